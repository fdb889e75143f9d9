package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/services"
)

// wrong is a request that the description of its operation forbids, for one reason.
type wrong struct {
	why, query, header, body string

	kind   string // of the body; JSON by default
	status int
	at     string // the location of the fault begins so
}

// Whatever an operation's description forbids is refused before its handler runs, and the answer says where the fault is.
// The handlers have nothing to work with here: one that ran would panic.
func TestWhatTheDescriptionForbidsIsRefused(t *testing.T) {
	t.Parallel()
	handler, described, n := api.New(services.Deps{}), api.Description(), 0
	as := caller.With(t.Context(), &caller.Caller{Actor: core.Actor{Handle: "root"}})
	for _, op := range api.Operations() {
		item := described.Paths[op.Path]
		doc := map[string]*huma.Operation{"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete}[op.Method]
		for _, w := range wrongs(described.Components.Schemas, doc) {
			n++
			path := api.Prefix + regexp.MustCompile(`{\w+}`).ReplaceAllString(op.Path, "x1")
			r := httptest.NewRequestWithContext(as, op.Method, path+"?"+w.query, strings.NewReader(w.body))
			if name, value, ok := strings.Cut(w.header, ": "); ok {
				r.Header.Set(name, value)
			}
			if w.kind != "" {
				r.Header.Set("Content-Type", w.kind)
			}
			got := &timed{httptest.NewRecorder(), 0}
			what := fmt.Sprintf("%s: %s: %.300s %s %.300s", op.ID, w.why, w.query, w.header, w.body)
			require.NotPanics(t, func() { handler.ServeHTTP(got, r) }, what)
			require.Equal(t, w.status, got.Code, "%s\n%s", what, got.Body)
			require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"), what)
			if w.why == "no JSON" {
				require.Positive(t, got.within, "%s: the body may come as slowly as it likes", what)
			}
			var p api.Problem
			require.NoError(t, json.Unmarshal(got.Body.Bytes(), &p), what)
			require.True(t, w.at == "" || slices.ContainsFunc(p.Errors, func(f api.Fault) bool { return strings.HasPrefix(f.Location, w.at) }), "%s\n%s", what, got.Body)
		}
	}
	require.Greater(t, n, 1000)
}

// timed is an answer that notes within which time the body has to come.
type timed struct {
	*httptest.ResponseRecorder

	within time.Duration
}

func (r *timed) SetReadDeadline(at time.Time) error {
	r.within = time.Until(at)
	return nil
}

// wrongs makes what an operation has to refuse.
func wrongs(schemas huma.Registry, doc *huma.Operation) []wrong {
	fixed := url.Values{} // what the query must have
	for _, p := range doc.Parameters {
		if p.In == "query" && p.Required {
			fixed.Set(p.Name, "x")
		}
	}
	query := func(name string, values ...string) string {
		all := maps.Clone(fixed)
		if all[name] = values; values == nil {
			delete(all, name)
		}
		return all.Encode()
	}
	all := []wrong{{why: "unknown", query: query("colour", "red"), status: 422, at: "query.colour"}}
	for _, p := range doc.Parameters {
		if p.In == "query" && p.Required {
			all = append(all, wrong{why: "required", query: query(p.Name), status: 422, at: "query." + p.Name})
		}
		for _, bad := range bads(schemas, p.Schema, 0) {
			texts := []string{fmt.Sprint(bad.value)}
			if list, ok := bad.value.([]any); ok {
				texts = nil
				for _, one := range list {
					texts = append(texts, fmt.Sprint(one))
				}
				if !*p.Explode {
					texts = []string{strings.Join(texts, ",")}
				}
			}
			w := wrong{why: bad.why, query: fixed.Encode(), body: "{}", status: 422, at: p.In + "." + p.Name}
			switch {
			case texts[0] == "" || bad.why == "type" && slices.Contains([]string{"string", "array"}, p.Schema.Type) || bad.why == "item type":
				continue // every text is a string, and an empty one is none
			case p.In == "query":
				w.query = query(p.Name, texts...)
			case p.In == "header":
				w.header = p.Name + ": " + texts[0]
			default:
				continue // those of a path have no bounds here
			}
			all = append(all, w)
		}
	}
	if doc.RequestBody == nil || doc.RequestBody.Content["application/json"] == nil {
		return all
	}
	in := func(w wrong) { w.query, all = fixed.Encode(), append(all, w) }
	if doc.RequestBody.Required {
		in(wrong{why: "no body", status: 400})
	}
	in(wrong{why: "no JSON", body: "{", status: 400, at: "body"})
	in(wrong{why: "another type", body: "{}", kind: "text/plain", status: 415, at: "body"})
	in(wrong{why: "too long", body: strings.Repeat(" ", 256<<10), status: 413})
	for _, bad := range bads(schemas, doc.RequestBody.Content["application/json"].Schema, 0) {
		raw, _ := json.Marshal(bad.value)
		in(wrong{why: bad.why, body: string(raw), status: 422, at: "body" + bad.at})
	}
	return all
}

// bad is a value that a schema forbids.
type bad struct {
	why   string
	value any
	at    string // below the value
}

// bads makes values that a schema forbids, each for one reason and perhaps because something required is absent.
func bads(schemas huma.Registry, s *huma.Schema, depth int) []bad {
	if s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	if depth > 6 {
		return nil
	}
	var all []bad
	add := func(why string, value any) { all = append(all, bad{why: why, value: value}) }
	inside := func(wrap func(any) any, at string, of *huma.Schema) {
		for _, b := range bads(schemas, of, depth+1) {
			all = append(all, bad{"item " + strings.TrimPrefix(b.why, "item "), wrap(b.value), at + b.at})
		}
	}
	switch s.Type {
	case "string":
		add("type", 5)
		if s.MaxLength != nil && *s.MaxLength < 200<<10 {
			add("maxLength", strings.Repeat("x", *s.MaxLength+1))
		}
		if s.MinLength != nil && *s.MinLength > 0 {
			add("minLength", "")
		}
		if s.Pattern != "" || s.Format == "date-time" {
			add("pattern", "\x01")
		}
	case "integer", "number":
		add("type", "x")
		if s.Minimum != nil {
			add("minimum", int64(*s.Minimum)-1)
		}
		if s.Maximum != nil {
			add("maximum", int64(*s.Maximum)+1)
		}
	case "boolean":
		add("type", "x")
	case "array":
		add("type", "x")
		if s.MaxItems != nil {
			add("maxItems", slices.Repeat([]any{"x"}, *s.MaxItems+1))
		}
		if s.MinItems != nil && *s.MinItems > 0 {
			add("minItems", []any{})
		}
		inside(func(v any) any { return []any{v} }, "[0]", s.Items)
	case "object":
		add("type", "x")
		for _, name := range s.Required {
			without := map[string]any{}
			for _, other := range s.Required {
				if other != name {
					without[other] = nil
				}
			}
			add("required "+name, without)
		}
		if s.AdditionalProperties == false {
			all = append(all, bad{"unknown", map[string]any{"colour": "red"}, ".colour"})
		}
		for name, of := range s.Properties {
			if of.Default != nil {
				panic("nobody sets the default of " + name + " in a body")
			}
			inside(func(v any) any { return map[string]any{name: v} }, "."+name, of)
		}
		if of, ok := s.AdditionalProperties.(*huma.Schema); ok {
			inside(func(v any) any { return map[string]any{"k": v} }, ".k", of)
		}
	}
	if len(s.Enum) > 0 {
		add("enum", "none of them")
	}
	return all
}
