package api

import (
	"encoding/json"
	"reflect"

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

// onto changes a T.
func (c Change[T]) onto(t *T) error {
	err := json.Unmarshal(c.raw, t)
	return core.Wrap(err, core.CodeInvalid, "", "the change cannot be read")
}
