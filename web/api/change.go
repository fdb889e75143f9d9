package api

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
)

// Change is a body with some fields of a T: those change, the others stay.
type Change[T any] struct{ raw json.RawMessage }

// UnmarshalJSON keeps the body.
func (c *Change[T]) UnmarshalJSON(raw []byte) error {
	c.raw = append(c.raw[:0], raw...)
	return nil
}

// Schema is that of a T without required fields.
func (Change[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), false, "")
	s.Required = nil
	s.PrecomputeMessages()
	return &s
}

// onto changes a T. A list that is given takes the place of the whole list that was there.
func (c Change[T]) onto(t *T) error {
	dropLists(reflect.ValueOf(t).Elem(), c.raw)
	err := json.Unmarshal(c.raw, t)
	return core.Wrap(err, core.CodeInvalid, "", "the change cannot be read")
}

// dropLists empties the lists of a struct that a change names. Otherwise their items would be read onto the former ones,
// and a field that is left out would keep what another item had.
func dropLists(v reflect.Value, raw json.RawMessage) {
	var given map[string]json.RawMessage
	if v.Kind() != reflect.Struct || json.Unmarshal(raw, &given) != nil {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			dropLists(v.Field(i), raw)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for key, value := range given {
			switch {
			case !strings.EqualFold(key, cmp.Or(name, f.Name)):
			case f.Type.Kind() == reflect.Slice && f.IsExported():
				v.Field(i).SetZero()
			default:
				dropLists(v.Field(i), value)
			}
		}
	}
}
