package coretest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/service/metric"
)

// Metrics returns the values of all series by their names with their labels.
func Metrics(t *testing.T, from *metric.Set) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for line := range strings.Lines(string(from.Text())) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[end+1:]), 64)
		require.NoError(t, err, line)
		all[line[:end]] = value
	}
	return all
}

// SumMetric returns the sum of a metric's series, or of those whose labels begin with some: NAME{label="value". Of a
// histogram it is how many values were observed.
func SumMetric(t *testing.T, from *metric.Set, name string) float64 {
	t.Helper()
	name, labels, _ := strings.Cut(name, "{")
	sum := 0.0
	for series, value := range Metrics(t, from) {
		its, with, _ := strings.Cut(series, "{")
		if (its == name || its == name+"_count") && strings.HasPrefix(with, labels) {
			sum += value
		}
	}
	return sum
}
