package tango

import (
	"net/http"

	"drover/core"
)

// Route is one thing that the compatible API does. The key is a part of its path.
type Route struct {
	Method, Path string
	Action       core.Action // that the caller needs a right to; "" needs none
	Scope        core.Scope  // that the caller's token needs

	handle func(*API, http.ResponseWriter, *http.Request, *call) error
}

// Routes is the compatible API's one table.
func Routes() []Route {
	create, view := core.ActRequestCreate, core.ActRequestView
	return []Route{
		{"GET", "/open/{key}/{courselab}/{$}", create, core.ScopeSubmit, (*API).open},
		{"POST", "/upload/{key}/{courselab}/{$}", create, core.ScopeSubmit, (*API).upload},
		{"POST", "/addJob/{key}/{courselab}/{$}", create, core.ScopeSubmit, (*API).addJob},
		{"GET", "/poll/{key}/{courselab}/{output}/{$}", view, core.ScopeRead, (*API).poll},
		{"GET", "/jobs/{key}/{dead}/{$}", view, core.ScopeRead, (*API).jobs},
		{"GET", "/info/{key}/{$}", "", core.ScopeRead, (*API).info},
	}
}
