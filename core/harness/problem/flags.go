package problem

import (
	"slices"
	"strconv"
)

// flags are those of an output validator, and where they are.
type flags struct {
	file  string
	line  int
	words []string
}

// flagsOf joins the package's flags with a test's.
func (p *Problem) flagsOf(t *Test) flags {
	f := t.flags
	if f.file == "" {
		f = p.compare
	} else {
		f.words = slices.Concat(p.compare.words, f.words)
	}
	return f
}

// comparison converts flags of the default validator to a compare of cases.yaml.
func (p *Problem) comparison(f flags) map[string]any {
	refuse := func(format string, args ...any) { p.refuse(f.file, f.line, format, args...) }
	var minds, spaces bool
	absolute, relative := -1.0, -1.0
	for i := 0; i < len(f.words); i++ {
		word := f.words[i]
		switch word {
		case "case_sensitive":
			minds = true
		case "space_change_sensitive":
			spaces = true
		case "float_tolerance", "float_absolute_tolerance", "float_relative_tolerance":
			i++
			v := -1.0
			if i < len(f.words) {
				v, _ = strconv.ParseFloat(f.words[i], 64)
			}
			if !(v >= 0 && v <= 1e9) {
				refuse("%s needs a number", word)
				continue
			}
			if word != "float_relative_tolerance" {
				absolute = v
			}
			if word != "float_absolute_tolerance" {
				relative = v
			}
		default:
			refuse("the default output validator has no flag %q", word)
		}
	}
	floats := absolute >= 0 || relative >= 0
	switch {
	case spaces && floats:
		refuse("space_change_sensitive with a tolerance: drover compares numbers word by word")
	case spaces && !minds:
		return map[string]any{"by": "exact", "ignore_case": true}
	case spaces:
		return map[string]any{"by": "exact"}
	case floats:
		c := map[string]any{"by": "float", "absolute": max(absolute, 0), "relative": max(relative, 0)}
		if !minds {
			c["ignore_case"] = true
		}
		return c
	}
	if minds {
		return map[string]any{"by": "tokens"}
	}
	return map[string]any{"by": "tokens", "ignore_case": true}
}
