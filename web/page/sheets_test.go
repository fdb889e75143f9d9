package page

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The sheets use the scales that base.css declares: no type, corner or colour of a sheet's own, and distances of whole
// quarters of a rem. What is below a quarter, or in the units of a picture or of the text around it, is free.
func TestSheetsKeepToTheScales(t *testing.T) {
	t.Parallel()
	raw, err := readSheet()
	require.NoError(t, err)
	sheet := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(raw), "")
	rules := regexp.MustCompile(`([a-z-]+): ([^;{}]+)[;}]`).FindAllStringSubmatch(sheet, -1)
	require.Greater(t, len(rules), 300)
	rem := regexp.MustCompile(`(\d*\.?\d+)rem`)
	colour := regexp.MustCompile(`#[0-9a-f]{3,8}\b`)
	paper := []string{"#000", "#fff"} // of codes that cameras read
	for _, rule := range rules {
		name, value := rule[1], strings.TrimSpace(rule[2])
		switch {
		case strings.HasPrefix(name, "--"):
			continue
		case name == "font-size" || strings.HasSuffix(name, "radius"):
			assert.NotRegexp(t, `rem`, value, "%s: take a size of base.css", rule[0])
		case strings.HasPrefix(name, "margin") || strings.HasPrefix(name, "padding") || strings.HasSuffix(name, "gap"):
			for _, m := range rem.FindAllStringSubmatch(value, -1) {
				n, err := strconv.ParseFloat(m[1], 64)
				require.NoError(t, err)
				assert.True(t, n < 0.25 || n*4 == float64(int(n*4)), "%s: distances are quarters of a rem", rule[0])
			}
		}
		if m := colour.FindString(value); m != "" {
			assert.True(t, slices.Contains(paper, m), "%s: name the colour beside the others", rule[0])
		}
	}
}
