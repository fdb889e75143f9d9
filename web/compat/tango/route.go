package tango

import (
	"net/http"

	"drover/core"
	"drover/core/school"
)

// Route is one operation of the compatible API. The key is a part of its path.
type Route struct {
	Method, Path string
	Action       core.Action  // right that the caller needs; "" for none
	Scope        school.Scope // that the caller's token needs

	handle func(*API, http.ResponseWriter, *http.Request, *call) error
}

// Routes is the compatible API's table of operations.
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
