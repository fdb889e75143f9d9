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

// fields reads the first part of a form, and checks it as other bodies are checked.
func (s *server) fields(form *multipart.Reader) (*RequestFields, error) {
	part, err := form.NextRawPart()
	if err == nil && part.FormName() == partRequest {
		raw, err := io.ReadAll(io.LimitReader(part, core.MaxSpecBytes+1))
		switch {
		case err != nil:
			return nil, broken(err)
		case len(raw) > core.MaxSpecBytes:
			return nil, core.Errorf(core.CodeLimit, "", "part %s has more than %d bytes: put what is long into files", partRequest, core.MaxSpecBytes)
		}
		return s.checked(raw)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, broken(err)
	}
	return nil, core.Errorf(core.CodeInvalid, "", `the first part of the form has to be %s, a JSON such as {"pool": "p1", "command": ["true"]}, and the files follow it`, partRequest)
}

// checked reads the fields of a request.
func (s *server) checked(raw []byte) (*RequestFields, error) {
	var said any
	fields := &RequestFields{}
	if err := json.Unmarshal(raw, &said); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "part %s is no JSON", partRequest)
	}
	found := huma.ValidateResult{}
	schema := s.schemas.Schema(reflect.TypeFor[RequestFields](), true, "")
	huma.Validate(s.schemas, schema, huma.NewPathBuffer([]byte(partRequest), len(partRequest)), huma.ModeWriteToServer, said, &found)
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
	return fields, core.Wrap(err, core.CodeInvalid, "", "part %s cannot be read", partRequest)
}

// broughtAs returns a later part of a request's form.
func broughtAs(part *multipart.Part) (intake.Upload, error) {
	switch as := intake.Part(part.FormName()); as {
	case "file":
		return fileOf(part)
	case intake.PartStdin, intake.PartHarness:
		return intake.Upload{Part: as, Content: whole{part}}, nil
	default:
		return intake.Upload{}, core.Errorf(core.CodeInvalid, "", "part %.80q of the form is none of a request: after %s come file, %s and %s", as, partRequest, intake.PartStdin, intake.PartHarness)
	}
}
