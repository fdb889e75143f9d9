package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/web/caller"
)

// registration is an operation as it is served. huma.Register would be compiled for each pair of types anew; this is
// made from the types when the site starts, and panics for what it does not know.
type registration struct {
	entry
	server *server
	api    huma.API
	doc    *huma.Operation
	params []param
	body   *field // of the input; nil if no body is read here
	schema *huma.Schema

	status, answer []int // fields of the output; nil for none
	headers        []field
}

type field struct {
	reflect.StructField
	name string // in HTTP
}

// param is a field of the input that is not the body.
type param struct {
	field
	in       string // path, query or header
	explode  bool   // several values come as several parameters, not with commas
	required bool
	schema   *huma.Schema
}

// register serves an operation, and adds it to the description.
func (e entry) register(s *server, api huma.API) {
	doc := e.described()
	doc.Responses = map[string]*huma.Response{}
	r := &registration{entry: e, server: s, api: api, doc: &doc}
	r.readInput()
	r.readOutput()
	api.OpenAPI().AddOperation(&doc)
	api.Adapter().Handle(&doc, api.Middlewares().Handler(r.serve))
}

// fields returns the fields of a struct and of those embedded in it, whose names may hide one another.
func (r *registration) fields(t reflect.Type, index ...int) []reflect.StructField {
	var all []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(index), i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			all = append(all, r.fields(f.Type, f.Index...)...)
		case f.Anonymous || !f.IsExported():
			r.refuse(f, "it has to be exported, or an embedded struct")
		default:
			all = append(all, f)
		}
	}
	return all
}

func (r *registration) refuse(f reflect.StructField, why string) {
	panic(fmt.Sprintf("operation %s: field %s %s: %s", r.ID, f.Name, f.Type, why))
}

// hint names the type of a field in the description, if it has no name.
func hint(t reflect.Type, f reflect.StructField, other string) string {
	if t.Name() != "" {
		return t.Name() + f.Name
	}
	return other
}

func (r *registration) readInput() {
	schemas := r.api.OpenAPI().Components.Schemas
	for _, f := range r.fields(r.in) {
		if f.Name == "Body" && f.Tag == "" {
			r.body = &field{f, "body"}
			continue
		}
		p := param{field: field{StructField: f}}
		for _, p.in = range []string{"path", "query", "header"} {
			if p.name = f.Tag.Get(p.in); p.name != "" {
				break
			}
		}
		kind := f.Type.Kind()
		switch {
		case p.name == "":
			r.refuse(f, "it has to be in the path, the query or a header")
		case kind == reflect.Slice && p.in == "query" && f.Type.Elem().Kind() == reflect.String:
		case !slices.Contains([]reflect.Kind{reflect.String, reflect.Bool, reflect.Int, reflect.Int64}, kind):
			r.refuse(f, "no parameter is of this type")
		}
		documented := &huma.Param{In: p.in, Schema: huma.SchemaFromField(schemas, f, "")}
		if p.in == "query" {
			p.name, p.explode = strings.CutSuffix(p.name, ",explode")
			documented.Explode = &p.explode
		}
		p.schema, p.required = documented.Schema, p.in == "path" || f.Tag.Get("required") == "true"
		documented.Name, documented.Description, documented.Required = p.name, p.schema.Description, p.required
		r.doc.Parameters = append(r.doc.Parameters, documented)
		r.params = append(r.params, p)
	}
	if r.body == nil {
		return
	}
	r.schema = huma.SchemaFromField(schemas, r.body.StructField, hint(r.in, r.body.StructField, r.ID+"Request"))
	r.schema.PrecomputeMessages()
	r.doc.RequestBody = &huma.RequestBody{
		Required: r.body.Type.Kind() != reflect.Pointer,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: r.schema}},
	}
}

func (r *registration) readOutput() {
	schemas := r.api.OpenAPI().Components.Schemas
	response := &huma.Response{}
	described := map[string]*huma.Param{}
	for _, f := range r.fields(r.out) {
		header := f.Tag.Get("header")
		switch {
		case f.Name == "Status" && f.Type.Kind() == reflect.Int:
			r.status = f.Index
		case f.Name == "Body" && f.Tag == "":
			r.answer, response.Headers = f.Index, described
			if f.Type != reflect.TypeFor[func(huma.Context)]() {
				response.Content = map[string]*huma.MediaType{"application/json": {Schema: huma.SchemaFromField(schemas, f, hint(r.out, f, r.ID+"Response"))}}
			}
		case header != "" && header != "Content-Type" && f.Type.Kind() == reflect.String:
			response.Headers = described
			described[header] = &huma.Param{Schema: huma.SchemaFromField(schemas, f, "")}
			r.headers = append(r.headers, field{f, header})
		default:
			r.refuse(f, "an answer has Status, Body without tags, and headers that are strings")
		}
	}
	if r.doc.DefaultStatus == 0 {
		r.doc.DefaultStatus = http.StatusNoContent
		if r.answer != nil {
			r.doc.DefaultStatus = http.StatusOK
		}
	}
	response.Description = http.StatusText(r.doc.DefaultStatus)
	r.doc.Responses[strconv.Itoa(r.doc.DefaultStatus)] = response
	r.doc.Responses["default"] = &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
		(*Problem)(nil).ContentType(""): {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "")},
	}}
}

// failure is why a request gets no further.
type failure struct {
	status int
	text   string
	errs   []error
}

// serve answers one request.
func (r *registration) serve(ctx huma.Context) {
	in := reflect.New(r.in)
	if f := r.read(ctx, in.Elem()); f != nil {
		_ = huma.WriteErr(r.api, ctx, f.status, f.text, f.errs...) // it reports what it cannot write
		return
	}
	var a core.Actor
	if c := caller.From(ctx.Context()); c != nil {
		a = c.Actor
	}
	out, err := r.do(r.server, ctx.Context(), a, in.Interface())
	if err != nil {
		p := r.server.problem(r.Operation, err)
		for name, values := range p.headers {
			for _, value := range values {
				ctx.AppendHeader(name, value)
			}
		}
		r.write(ctx, p.Status, p)
		return
	}
	r.respond(ctx, reflect.ValueOf(out))
}

// read reads and checks the input. It collects what is wrong, so that a caller learns all of it at once.
func (r *registration) read(ctx huma.Context, in reflect.Value) *failure {
	const invalid = "validation failed"
	path, found := huma.NewPathBuffer(make([]byte, 0, 128), 0), &huma.ValidateResult{}
	at := func(where ...string) *huma.PathBuffer {
		path.Reset()
		for _, part := range where {
			path.Push(part)
		}
		return path
	}
	u := ctx.URL()
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if !slices.ContainsFunc(r.params, func(p param) bool { return p.in == "query" && p.name == name }) {
			found.Add(at("query", name), "", "unknown query parameter")
		}
	}
	if len(found.Errors) > 0 {
		return &failure{http.StatusUnprocessableEntity, invalid, found.Errors}
	}
	schemas := r.api.OpenAPI().Components.Schemas
	for _, p := range r.params {
		at(p.in, p.name)
		text := p.text(ctx)
		if text == "" {
			if p.required {
				found.Add(path, "", "required "+p.in+" parameter is missing")
			}
			continue
		}
		value, err := p.parse(ctx, text, in.FieldByIndex(p.Index))
		if err != nil {
			found.Add(path, text, err.Error())
			continue
		}
		huma.Validate(schemas, p.schema, path, huma.ModeWriteToServer, value, found)
	}
	status := http.StatusUnprocessableEntity
	if r.body != nil {
		raw, f := r.readBody(ctx)
		if f == nil && len(raw) == 0 && r.doc.RequestBody.Required {
			f = &failure{http.StatusBadRequest, "request body is required", nil}
		}
		if f != nil {
			f.errs = append(f.errs, found.Errors...)
			return f
		}
		if len(raw) > 0 {
			at("body")
			status = r.parseBody(ctx, raw, in.FieldByIndex(r.body.Index), path, found)
		}
	}
	if len(found.Errors) > 0 {
		return &failure{status, invalid, found.Errors}
	}
	return nil
}

// text returns a parameter as it was sent, or its default.
func (p param) text(ctx huma.Context) (text string) {
	switch p.in {
	case "path":
		text = ctx.Param(p.name)
	case "query":
		text = ctx.Query(p.name)
	case "header":
		text = ctx.Header(p.name)
	}
	if text == "" {
		text = p.Tag.Get("default")
	}
	return text
}

// parse sets a field to what a text says, and returns that in the form that is validated.
func (p param) parse(ctx huma.Context, text string, into reflect.Value) (any, error) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
		return text, nil
	case reflect.Bool:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("invalid boolean")
		}
		into.SetBool(value)
		return value, nil
	case reflect.Slice:
		texts := strings.Split(text, ",")
		if p.explode {
			u := ctx.URL()
			texts = u.Query()[p.name]
		}
		into.Set(reflect.MakeSlice(into.Type(), len(texts), len(texts)))
		for i, one := range texts {
			into.Index(i).SetString(one)
		}
		return texts, nil
	default:
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New("invalid integer")
		}
		into.SetInt(value)
		return value, nil
	}
}

// readBody reads a body that is neither too long nor too slow.
func (r *registration) readBody(ctx huma.Context) ([]byte, *failure) {
	_ = ctx.SetReadDeadline(time.Now().Add(r.doc.BodyReadTimeout)) // a test's response has none
	raw, err := io.ReadAll(io.LimitReader(ctx.BodyReader(), r.doc.MaxBodyBytes))
	var slow net.Error
	switch {
	case int64(len(raw)) == r.doc.MaxBodyBytes:
		return nil, &failure{http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is too large limit=%d bytes", r.doc.MaxBodyBytes), nil}
	case errors.As(err, &slow) && slow.Timeout():
		return nil, &failure{http.StatusRequestTimeout, "request body read timeout", nil}
	case err != nil:
		return nil, &failure{http.StatusInternalServerError, "cannot read request body", []error{err}}
	}
	return raw, nil
}

// parseBody checks a body and reads it into a field. It returns the status for what was found.
func (r *registration) parseBody(ctx huma.Context, raw []byte, into reflect.Value, path *huma.PathBuffer, found *huma.ValidateResult) int {
	kind := ctx.Header("Content-Type")
	if kind == "" {
		kind = "application/json"
	}
	wrong := func(err error) {
		found.Errors = append(found.Errors, &huma.ErrorDetail{Location: "body", Message: err.Error()})
	}
	var parsed any
	if err := r.api.Unmarshal(kind, raw, &parsed); err != nil {
		wrong(err)
		if errors.Is(err, huma.ErrUnknownContentType) {
			return http.StatusUnsupportedMediaType
		}
		return http.StatusBadRequest
	}
	before := len(found.Errors)
	huma.Validate(r.api.OpenAPI().Components.Schemas, r.schema, path, huma.ModeWriteToServer, parsed, found)
	if len(found.Errors) > before {
		return http.StatusUnprocessableEntity
	}
	if err := r.api.Unmarshal(kind, raw, into.Addr().Interface()); err != nil {
		wrong(err)
	}
	return http.StatusUnprocessableEntity
}

// respond answers with an output, or with nothing but the status if it is nil.
func (r *registration) respond(ctx huma.Context, out reflect.Value) {
	status := r.doc.DefaultStatus
	if out.IsNil() {
		ctx.SetStatus(status)
		return
	}
	out = out.Elem()
	for _, h := range r.headers {
		if value := out.FieldByIndex(h.Index).String(); value != "" {
			ctx.SetHeader(h.name, value)
		}
	}
	if r.status != nil {
		status = int(out.FieldByIndex(r.status).Int())
	}
	if r.answer == nil {
		ctx.SetStatus(status)
		return
	}
	body := out.FieldByIndex(r.answer).Interface()
	if stream, ok := body.(func(huma.Context)); ok {
		stream(ctx)
		return
	}
	r.write(ctx, status, body)
}

// write sends a body as JSON.
func (r *registration) write(ctx huma.Context, status int, body any) {
	kind, err := r.api.Negotiate(ctx.Header("Accept"))
	if err != nil {
		_ = huma.WriteErr(r.api, ctx, http.StatusNotAcceptable, "unable to marshal response", err)
		return
	}
	if its, ok := body.(huma.ContentTypeFilter); ok {
		kind = its.ContentType(kind)
	}
	ctx.SetHeader("Content-Type", kind)
	ctx.SetStatus(status)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return
	}
	if err := r.api.Marshal(ctx.BodyWriter(), kind, body); err != nil && !errors.Is(ctx.Context().Err(), context.Canceled) {
		panic(fmt.Errorf("operation %s: the answer cannot be written: %w", r.ID, err))
	}
}
