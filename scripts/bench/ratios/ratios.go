// Package ratios compares the ratios in tables of Markdown: those of a run with those that docs/benchmarks.md has.
package ratios

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Key names a ratio: the row's system, and the system that the column compares with.
type Key struct{ System, Of string }

// Of returns the ratios in the tables of a text. A table counts whose first column is headed "system"; ratios are in its
// columns headed "× …". Of a key in several tables the last one counts.
func Of(markdown string) map[Key]float64 {
	found := make(map[Key]float64)
	var header []string
	for line := range strings.Lines(markdown) {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			header = nil
		case cells[0] == "system":
			header = cells
		default:
			for i := range min(len(header), len(cells)) {
				ratio, err := strconv.ParseFloat(cells[i], 64)
				if of, is := strings.CutPrefix(header[i], "× "); is && err == nil {
					found[Key{cells[0], of}] = ratio
				}
			}
		}
	}
	return found
}

// cellsOf returns the cells of a line of a table; none of any other line.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 2 {
		return nil
	}
	cells := strings.Split(line[1:len(line)-1], "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// Fall is a ratio of drover's that is lower than it was.
type Fall struct {
	Key

	Was, Now float64
}

// least is the part of a ratio that is left where it has not fallen by a fifth.
const least = 0.8

// Fallen returns drover's ratios that have fallen by a fifth or more, worst first, how many were compared, and those
// that only one side has, which cannot be.
func Fallen(was, now map[Key]float64) (fallen []Fall, compared int, missing []Key) {
	for key, before := range was {
		after, is := now[key]
		switch {
		case !strings.HasPrefix(key.System, "drover"):
		case !is:
			missing = append(missing, key)
		default:
			compared++
			if after <= least*before {
				fallen = append(fallen, Fall{key, before, after})
			}
		}
	}
	for key := range now {
		if _, is := was[key]; !is && strings.HasPrefix(key.System, "drover") {
			missing = append(missing, key)
		}
	}
	byName := func(a, b Key) int { return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Of, b.Of)) }
	slices.SortFunc(fallen, func(a, b Fall) int {
		return cmp.Or(cmp.Compare(a.Now/a.Was, b.Now/b.Was), byName(a.Key, b.Key))
	})
	slices.SortFunc(missing, byName)
	return fallen, compared, missing
}
