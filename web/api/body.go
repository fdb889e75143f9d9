package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"drover/core/requests"
)

// raw are the bodies that handlers read themselves, by operation: huma would read them whole.
func raw(schemas huma.Registry) map[string]*huma.RequestBody {
	archive := func(required bool) *huma.RequestBody {
		kinds := map[string]*huma.MediaType{}
		for _, kind := range []string{"application/x-tar", "application/gzip", "application/zip", "application/octet-stream"} {
			kinds[kind] = &huma.MediaType{} // it is told by its content
		}
		return &huma.RequestBody{Required: required, Content: kinds}
	}
	file := &huma.Schema{Type: huma.TypeString, Description: "the filename is the file's path there, with slashes; a header File-Mode of the part sets its permissions, in octal"}
	files := &huma.Schema{
		Type:       huma.TypeObject,
		Properties: map[string]*huma.Schema{"file": {Type: huma.TypeArray, Items: file, Description: file.Description}},
	}
	draft := &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			partRequest: schemas.Schema(reflect.TypeFor[RequestFields](), true, ""),
			"file":      files.Properties["file"],
			"stdin":     {Type: huma.TypeString, Description: "standard input of a plain command"},
			"harness":   {Type: huma.TypeString, Description: "a harness's folder as a tar (.tar, .tgz, …) or zip, which grades the files"},
		},
		Required: []string{partRequest},
	}
	batch := &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{
			partBatch:      schemas.Schema(reflect.TypeFor[requests.BatchDraft](), true, ""),
			"file":         {Type: huma.TypeArray, Items: file, Description: "for all jobs: " + file.Description},
			"jobs[0].file": {Type: huma.TypeArray, Items: file, Description: "for one job: " + file.Description},
			"stdin":        {Type: huma.TypeString, Description: "standard input of all jobs; jobs[0].stdin is that of one"},
			"harness":      {Type: huma.TypeString, Description: "a harness's folder as a tar (.tar, .tgz, …) or zip, which grades the files; jobs[0].harness is that of one job"},
		},
		Required: []string{partBatch},
	}
	return map[string]*huma.RequestBody{
		"submitBatch":     {Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: batch}}},
		"setTypeHarness":  archive(true),
		"submit":          {Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: files}}},
		"submitRequest":   {Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: draft}}},
		"importRoster":    {Required: true, Content: map[string]*huma.MediaType{"text/csv": {}}},
		"setHarness":      archive(true),
		"startExperiment": archive(false),
	}
}

// describeRaw adds to the description what huma does not read or write.
func describeRaw(o *huma.OpenAPI) {
	bodies := raw(o.Components.Schemas)
	for _, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			if body := bodies[op.OperationID]; body != nil {
				op.RequestBody = body
			}
			if op.OperationID == "followRequest" {
				op.Responses["200"].Content = map[string]*huma.MediaType{"text/event-stream": {}}
			}
			if ok := op.Responses["200"]; ok != nil && op.Method == get && len(ok.Content) == 0 {
				ok.Content = map[string]*huma.MediaType{"application/octet-stream": {}}
			}
		}
	}
}
