package tango

import (
	"net/http"

	"drover/core"
	"drover/core/school"
)

// Route is one thing that the compatible API does. The key is a part of its path.
type Route struct {
	Method, Path string
	Action       core.Action  // that the caller needs a right to; "" needs none
	Scope        school.Scope // that the caller's token needs

	handle func(*API, http.ResponseWriter, *http.Request, *call) error
}

// Routes is the compatible API's one table.
func Routes() []Route {
	create, view := core.ActRequestCreate, core.ActRequestView
	return []Route{
		{"GET", "/open/{key}/{courselab}/{$}", create, school.ScopeSubmit, (*API).open},
		{"POST", "/upload/{key}/{courselab}/{$}", create, school.ScopeSubmit, (*API).upload},
		{"POST", "/addJob/{key}/{courselab}/{$}", create, school.ScopeSubmit, (*API).addJob},
		{"GET", "/poll/{key}/{courselab}/{output}/{$}", view, school.ScopeRead, (*API).poll},
		{"GET", "/jobs/{key}/{dead}/{$}", view, school.ScopeRead, (*API).jobs},
		{"GET", "/info/{key}/{$}", "", school.ScopeRead, (*API).info},
	}
}
