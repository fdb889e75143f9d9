package problem

import (
	"go.yaml.in/yaml/v3"

	"drover/core/service/pattern"
)

var (
	constantName = pattern.New(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	constantUse  = pattern.New(`\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z0-9_]+)?)\}\}`)
)

// readConstants reads the values that stand in the package's programs and statements as {{name}} and {{name.variant}}.
func (p *Problem) readConstants(e entry) {
	p.constants = map[string]string{}
	for _, one := range p.entries(e.file, e.value) {
		if !constantName().MatchString(one.key) {
			p.bad(one, "this is no name of a constant: letters, digits and _")
			continue
		}
		if one.value.Kind == yaml.ScalarNode {
			p.constants[one.key], p.constants[one.key+".value"] = one.value.Value, one.value.Value
			continue
		}
		for _, variant := range p.entries(e.file, one.value) {
			p.constants[one.key+"."+variant.key] = p.text(variant)
		}
		value, is := p.constants[one.key+".value"]
		if !is {
			p.bad(one, "it has no value")
		}
		p.constants[one.key] = value
	}
}

// filled puts the values of constants into a text. What names no constant stays.
func (p *Problem) filled(text []byte) []byte {
	if len(p.constants) == 0 {
		return text
	}
	return constantUse().ReplaceAllFunc(text, func(use []byte) []byte {
		if value, is := p.constants[string(use[2:len(use)-2])]; is {
			return []byte(value)
		}
		return use
	})
}
