package page

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// wcagText is the least contrast of text to its ground, by WCAG 2 AA.
const wcagText = 4.5

// TestContrastOfTokens computes the contrast of each colour that is text on a ground of its own, in light and dark, and
// of text and links on each ground of the page.
func TestContrastOfTokens(t *testing.T) {
	t.Parallel()
	sheet, err := readSheet()
	require.NoError(t, err)
	tokens := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(string(sheet), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	pairs := map[string]string{"on-brand": "brand"}
	for name := range tokens {
		if _, is := tokens[name+"-bg"]; is {
			pairs[name] = name + "-bg"
		}
	}
	require.GreaterOrEqual(t, len(pairs), 12)
	check := func(text, ground string) {
		for mode := range 2 {
			got := contrast(t, tokens[text][mode], tokens[ground][mode])
			require.GreaterOrEqual(t, got, wcagText, "--%s %s on --%s %s", text, tokens[text][mode], ground, tokens[ground][mode])
		}
	}
	for text, ground := range pairs {
		check(text, ground)
	}
	for _, text := range []string{"ink", "soft", "brand"} {
		for _, ground := range []string{"paper", "card", "sunk"} {
			check(text, ground)
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a colour such as #17713f.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
