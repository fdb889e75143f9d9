package api

import (
	"embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/web/page"
)

//go:embed pages/*.html
var files embed.FS

// Section is the documentation: pages that are made from the description, one for each
// group of operations.
func Section() page.Section {
	shown := documented(Description())
	return page.Section{Name: "api", Pages: files, Routes: []page.Route{
		{Pattern: "GET /api/docs", Public: true, Serve: func(r *page.Request) error { return r.Render("api/docs", shown) }},
		{Pattern: "GET /api/docs/{group}", Public: true, Serve: func(r *page.Request) error {
			name := r.PathValue("group")
			i := slices.IndexFunc(shown.Groups, func(g group) bool { return g.Name == name })
			if i < 0 {
				return core.Errorf(core.CodeNotFound, name, "the API has nothing at %.80q", Prefix+"/"+name)
			}
			return r.Render("api/group", shown.Groups[i])
		}},
	}}
}

// document is what the first page shows.
type document struct {
	Prefix   string
	Groups   []group
	Problems []problemDoc
}

// group is a page of operations whose paths begin alike.
type group struct {
	Name       string
	Operations []operationDoc
	Structs    []structDoc // that they name, themselves or by another one
}

type operationDoc struct {
	Operation
	Takes []fieldDoc
	Gives []givenDoc
}

type fieldDoc struct {
	Name, Where, Type, Struct, Doc string

	Required bool
}

type givenDoc struct{ Status, Type, Struct string }

type structDoc struct {
	Name   string
	Fields []fieldDoc
}

type problemDoc struct {
	Code   core.Code
	Status int
	Text   string
}

func documented(o *huma.OpenAPI) document {
	d := document{Prefix: Prefix, Problems: problems()}
	for _, op := range Operations() {
		described := find(o, op)
		name := described.Tags[0]
		if n := len(d.Groups); n == 0 || d.Groups[n-1].Name != name {
			d.Groups = append(d.Groups, group{Name: name})
		}
		last := &d.Groups[len(d.Groups)-1]
		last.Operations = append(last.Operations, operationDoc{op, takes(described), gives(described)})
	}
	d.Groups = gathered(d.Groups)
	for i := range d.Groups {
		d.Groups[i].Structs = named(o.Components.Schemas, d.Groups[i].Operations)
	}
	return d
}

// named returns the structs that operations refer to, directly or through others.
func named(schemas huma.Registry, by []operationDoc) []structDoc {
	found := map[string]structDoc{}
	var look func(name string)
	look = func(name string) {
		if _, seen := found[name]; seen || name == "" {
			return
		}
		one := structDoc{name, fields(schemas.Map()[name], "")}
		found[name] = one
		for _, f := range one.Fields {
			look(f.Struct)
		}
	}
	for _, op := range by {
		for _, f := range op.Takes {
			look(f.Struct)
		}
		for _, g := range op.Gives {
			look(g.Struct)
		}
	}
	var all []structDoc
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[name])
	}
	return all
}

// gathered puts groups of the same name together.
func gathered(groups []group) []group {
	var all []group
	for _, g := range groups {
		i := slices.IndexFunc(all, func(one group) bool { return one.Name == g.Name })
		if i < 0 {
			all = append(all, g)
			continue
		}
		all[i].Operations = append(all[i].Operations, g.Operations...)
	}
	return all
}

func find(o *huma.OpenAPI, op Operation) *huma.Operation {
	item := o.Paths[op.Path]
	return map[string]*huma.Operation{get: item.Get, put: item.Put, post: item.Post, patch: item.Patch, remove: item.Delete}[op.Method]
}

func takes(op *huma.Operation) []fieldDoc {
	var all []fieldDoc
	for _, p := range op.Parameters {
		kind, link := typeOf(p.Schema)
		all = append(all, fieldDoc{Name: p.Name, Where: p.In, Type: kind, Struct: link, Doc: p.Description, Required: p.Required})
	}
	if op.RequestBody == nil {
		return all
	}
	for _, media := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
		body := op.RequestBody.Content[media].Schema
		kind, link := typeOf(body)
		all = append(all, fieldDoc{Name: media, Where: "body", Type: kind, Struct: link, Required: op.RequestBody.Required})
		if body != nil {
			all = append(all, fields(body, "part")...)
		}
	}
	return all
}

func gives(op *huma.Operation) []givenDoc {
	var all []givenDoc
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		one := givenDoc{Status: status}
		for _, media := range slices.Sorted(maps.Keys(op.Responses[status].Content)) {
			one.Type = media
			if _, link := typeOf(op.Responses[status].Content[media].Schema); link != "" {
				one.Struct = link
			}
		}
		all = append(all, one)
	}
	return all
}

func fields(s *huma.Schema, where string) []fieldDoc {
	var all []fieldDoc
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		kind, link := typeOf(p)
		all = append(all, fieldDoc{Name: name, Where: where, Type: kind, Struct: link, Doc: p.Description, Required: slices.Contains(s.Required, name)})
	}
	return all
}

// typeOf returns the type of a schema, and the struct to which it refers.
func typeOf(s *huma.Schema) (kind, link string) {
	switch {
	case s == nil:
		return "", ""
	case s.Ref != "":
		return "", s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		kind, link = typeOf(s.Items)
		return strings.TrimSpace("list " + kind), link
	case len(s.Enum) > 0:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Enum), " ", " | "), "[]"), ""
	default:
		return s.Type, ""
	}
}

// problems lists the codes with their HTTP statuses.
func problems() []problemDoc {
	var all []problemDoc
	for _, p := range []problemDoc{
		{Code: core.CodeInvalid, Text: "the input is wrong: mend it and call again"},
		{Code: core.CodeForbidden, Text: "the right is missing, or the scope of the token; with status 401, nobody is signed in"},
		{Code: core.CodeNotFound, Text: "there is no such thing, or one may not know of it"},
		{Code: core.CodeConflict, Text: "the thing is in a state that does not allow the call, or its name is taken"},
		{Code: core.CodeStale, Text: "somebody changed the thing meanwhile; with status 412, If-Match named another revision"},
		{Code: core.CodeEnded, Text: "it is over: a deadline, a test or the life of a file"},
		{Code: core.CodeCancelled, Text: "somebody asked to stop the work"},
		{Code: core.CodeBusy, Text: "somebody else is at it"},
		{Code: core.CodeLimit, Text: "a bound on size, count or time was exceeded; with status 408, the body came too slowly"},
		{Code: core.CodeFull, Text: "too much at once: wait as Retry-After says"},
		{Code: core.CodeUnavailable, Text: "something that the site needs does not answer: try again in a moment"},
		{Code: core.CodeInternal, Text: "a fault of the site, which has been noted"},
	} {
		p.Status = page.Status(core.Errorf(p.Code, "", ""))
		all = append(all, p)
	}
	return all
}

// Description returns the description of the API as OpenAPI has it.
func Description() *huma.OpenAPI {
	return (&server{}).describe(http.NewServeMux())
}
