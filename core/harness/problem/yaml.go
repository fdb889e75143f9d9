package problem

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"drover/core"
)

// entry is a key of a mapping with its value. File and line say where it is.
type entry struct {
	file, key string
	line      int
	value     *yaml.Node
}

// mapping reads a YAML file of the package, which must be a mapping; nothing for a missing or empty file.
func (p *Problem) mapping(file string) ([]entry, error) {
	if !p.has(file) {
		return nil, nil
	}
	raw, err := p.bytes(file, maxYAML)
	if err != nil {
		return nil, err
	}
	if path.Base(file) == "test_group.yaml" {
		raw = p.filled(raw)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, core.Errorf(core.CodeInvalid, file, "%s is not YAML: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return p.entries(file, doc.Content[0]), nil
}

// entries are those of a mapping; what is none, or has a key twice, is refused.
func (p *Problem) entries(file string, n *yaml.Node) []entry {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		if n.ShortTag() != "!!null" {
			p.refuse(file, n.Line, "this must be a mapping")
		}
		return nil
	}
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry{file, n.Content[i].Value, n.Content[i].Line, target(n.Content[i+1])}
		if slices.ContainsFunc(all, func(o entry) bool { return o.key == e.key }) {
			p.bad(e, "it is given twice")
			continue
		}
		if e.value.ShortTag() != "!!null" { // as if it were not there
			all = append(all, e)
		}
	}
	return all
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// bad refuses the value of a key.
func (p *Problem) bad(e entry, format string, args ...any) {
	p.refuse(e.file, e.line, e.key+": "+format, args...)
}

// text is a single value.
func (p *Problem) text(e entry) string {
	if e.value.Kind != yaml.ScalarNode {
		p.bad(e, "this must be a single value")
	}
	return e.value.Value
}

// words is a sequence of values, or one value; split says that one value has several words.
func (p *Problem) words(e entry, split bool) []string {
	if e.value.Kind == yaml.ScalarNode {
		if split {
			return strings.Fields(e.value.Value)
		}
		return []string{e.value.Value}
	}
	var all []string
	if e.value.Kind == yaml.SequenceNode {
		for _, n := range e.value.Content {
			if n = target(n); n.Kind != yaml.ScalarNode {
				p.bad(e, "this must be a list of single values")
				return nil
			}
			all = append(all, n.Value)
		}
		return all
	}
	p.bad(e, "this must be a value, or a list of values")
	return nil
}

// number is a number within bounds.
func (p *Problem) number(e entry, least, most float64) float64 {
	v, err := strconv.ParseFloat(e.value.Value, 64)
	if e.value.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || v < least || v > most {
		p.bad(e, "this must be a number from %g to %g", least, most)
		return least
	}
	return v
}

func (p *Problem) seconds(e entry, least float64) time.Duration {
	return time.Duration(p.number(e, least, 3600) * float64(time.Second))
}

// size is a number of units, as bytes.
func (p *Problem) size(e entry, unit int64) int64 {
	return int64(p.number(e, 1, 1<<20)) * unit
}
