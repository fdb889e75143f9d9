package cases

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"drover/core"
	"drover/core/harness/languages"
)

// Factor is how many times the limits of tests a program in a language may use.
type Factor struct{ Time, Memory float64 }

// Bounds of a factor.
const (
	leastFactor = 0.1
	mostFactor  = 100
)

// factors reads the word table, for the factors of the table of languages, or a mapping of languages.
func factors(into *map[string]Factor) field {
	return func(n *yaml.Node) error {
		*into = map[string]Factor{}
		all := languages.All()
		if n = target(n); n.Kind == yaml.ScalarNode {
			var word string
			for i := range all {
				(*into)[all[i].Code] = Factor{all[i].Time, all[i].Memory}
			}
			return oneOf(&word, "table")(n)
		}
		fields := map[string]field{}
		for i := range all {
			code := all[i].Code
			fields[code] = func(n *yaml.Node) error {
				f := Factor{1, 1}
				read := number(&f.Time, leastFactor, mostFactor)
				if target(n).Kind == yaml.MappingNode {
					read = func(n *yaml.Node) error {
						return mapping(n, code, map[string]field{"time": number(&f.Time, leastFactor, mostFactor), "memory": number(&f.Memory, leastFactor, mostFactor)})
					}
				}
				err := read(n)
				(*into)[code] = f
				return err
			}
		}
		return mapping(n, "factors", fields)
	}
}

// For returns the plan for a submission of these files, whose language may have a factor.
func (p *Plan) For(paths []string) *Plan {
	l, _ := languages.Of(paths)
	f, ok := p.Factors[l.Code]
	if !ok {
		return p
	}
	own := *p
	own.Groups = slices.Clone(p.Groups)
	for i := range own.Groups {
		tests := slices.Clone(own.Groups[i].Tests)
		for k := range tests {
			tests[k].Limits = tests[k].Limits.times(f)
		}
		own.Groups[i].Tests = tests
	}
	return &own
}

func (l Limits) times(f Factor) Limits {
	longer := func(t time.Duration) time.Duration { return min(time.Duration(float64(t)*f.Time), core.MaxTimeout) }
	l.Time, l.Wall, l.Memory = longer(l.Time), longer(l.Wall), int64(float64(l.Memory)*f.Memory)
	return l
}
