package compat

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"drover/core"
)

// ParseTable reads the languages of a compatible API: YAML, a list of what L has. Setting is where it is from. Returns
// INVALID.
func ParseTable[L any](text []byte, setting string) ([]L, error) {
	var all []L
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, setting, "the table of languages cannot be read")
	}
	return all, nil
}
