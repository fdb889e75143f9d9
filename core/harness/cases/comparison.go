package cases

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// compile makes a pattern that must match the whole output, white space at its end ignored.
func (c *Compare) compile(pattern string) (*regexp.Regexp, error) {
	flags := "(?s)"
	if c.IgnoreCase {
		flags = "(?si)"
	}
	return regexp.Compile(flags + `\A(?:` + strings.TrimRight(pattern, "\n") + `)\s*\z`)
}

// read reads a way to compare: a word, or a mapping.
func (c *Compare) read(n *yaml.Node) error {
	words := []string{Exact, Trimmed, Tokens, Float, Regex, Check, Interact}
	next := Compare{By: Trimmed, Absolute: 1e-6, Relative: 1e-6}
	if target(n).Kind == yaml.ScalarNode {
		if err := oneOf(&next.By, words...)(n); err != nil {
			return err
		}
		*c = next
		return nil
	}
	tolerant := 0
	tolerance := func(set ...*float64) field {
		return func(n *yaml.Node) error {
			if tolerant++; tolerant == 1 {
				next.Absolute, next.Relative = 0, 0
			}
			var v float64
			err := number(&v, 0, 1e9)(n)
			for _, into := range set {
				*into = max(*into, v)
			}
			return err
		}
	}
	err := mapping(n, "compare", map[string]field{
		"by": oneOf(&next.By, words...), "ignore_case": truth(&next.IgnoreCase),
		"tolerance": tolerance(&next.Absolute, &next.Relative), "absolute": tolerance(&next.Absolute), "relative": tolerance(&next.Relative),
	})
	switch {
	case err != nil:
		return err
	case tolerant > 0 && next.By != Float:
		return wrong(n, "only a comparison by float has a tolerance")
	case next.IgnoreCase && next.byProgram():
		return wrong(n, "a comparison by %s minds the case", next.By)
	}
	*c = next
	return nil
}
