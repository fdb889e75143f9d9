package source_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each colour of source text can be read on each ground that it stands on, in light and dark.
func TestColoursHaveContrast(t *testing.T) {
	t.Parallel()
	colours := map[string][2]float64{}
	for _, sheet := range []string{"base", "source"} {
		raw, err := os.ReadFile("../page/sheets/" + sheet + ".css")
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\)`).FindAllStringSubmatch(string(raw), -1) {
			colours[m[1]] = [2]float64{luminance(t, m[2]), luminance(t, m[3])}
		}
	}
	grounds := []string{"card", "sunk", "warn-bg", "good-bg", "bad-bg"}
	seen := 0
	for name, colour := range colours {
		if name[:min(2, len(name))] != "h-" {
			continue
		}
		seen++
		for _, ground := range grounds {
			require.Contains(t, colours, ground)
			for mode := range 2 {
				a, b := colour[mode], colours[ground][mode]
				ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				assert.GreaterOrEqual(t, ratio, 4.5, "--%s on --%s, mode %d: %.2f", name, ground, mode, ratio)
			}
		}
	}
	require.Equal(t, 7, seen)
}

// luminance is what WCAG 2 calls the relative luminance of a colour.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	require.NoError(t, err)
	part := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
