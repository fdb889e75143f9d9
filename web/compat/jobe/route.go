package jobe

import (
	"net/http"

	"drover/core"
	"drover/core/school"
)

// Route is one operation of the compatible API.
type Route struct {
	Method, Path string
	Action       core.Action  // right that the caller needs; "" for none
	Scope        school.Scope // that the caller's token needs

	handle func(*API, http.ResponseWriter, *http.Request, *call) error
}

// CrossSite is the pattern of the paths that pages of other sites may call, as Jobe lets them: with a key, which is in
// a header that no browser sends by itself.
const CrossSite = "/jobe/"

// Routes is the compatible API's table of operations.
func Routes() []Route {
	create := core.ActRequestCreate
	return []Route{
		{"GET", "/restapi/languages", "", school.ScopeRead, (*API).languages},
		{"PUT", "/restapi/files/{id}", create, school.ScopeSubmit, (*API).putFile},
		{"HEAD", "/restapi/files/{id}", create, school.ScopeSubmit, (*API).headFile},
		{"POST", "/restapi/runs", create, school.ScopeSubmit, (*API).run},
	}
}
