package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/core/requests/intake"
)

// partRequest is the name of the part of a form that says what is requested.
const partRequest = "request"

// firstPart reads the first part of a form, of at most so many bytes, and checks it as other bodies are checked.
func firstPart[T any](s *server, form *multipart.Reader, name string, most int, example string) (*T, error) {
	part, err := form.NextRawPart()
	if err == nil && part.FormName() == name {
		raw, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
		switch {
		case err != nil:
			return nil, broken(err)
		case len(raw) > most:
			return nil, core.Errorf(core.CodeLimit, "", "part %s has more than %d bytes: put what is long into files", name, most)
		}
		return checked[T](s, name, raw)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, broken(err)
	}
	return nil, core.Errorf(core.CodeInvalid, "", `the first part of the form has to be %s, a JSON such as %s, and the files follow it`, name, example)
}

// checked reads the fields of a part.
func checked[T any](s *server, name string, raw []byte) (*T, error) {
	var said any
	fields := new(T)
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "part %s is no JSON", name)
	}
	found := huma.ValidateResult{}
	schema := s.schemas.Schema(reflect.TypeFor[T](), true, "")
	huma.Validate(s.schemas, schema, huma.NewPathBuffer([]byte(name), len(name)), huma.ModeWriteToServer, said, &found)
	var faults []*huma.ErrorDetail
	for _, err := range found.Errors {
		var one *huma.ErrorDetail
		if errors.As(err, &one) {
			faults = append(faults, one)
		}
	}
	if len(faults) > 0 {
		return nil, faulty(http.StatusUnprocessableEntity, "validation failed", faults)
	}
	err := json.Unmarshal(raw, fields)
	return fields, core.Wrap(err, core.CodeInvalid, "", "part %s cannot be read", name)
}

// broughtAs returns a later part of a request's form.
func broughtAs(part *multipart.Part) (intake.Upload, error) {
	return upload(part, part.FormName(), partRequest)
}
