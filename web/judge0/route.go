package judge0

import (
	"net/http"

	"drover/core"
)

// Route is one thing that the door does.
type Route struct {
	Method, Path string
	Action       core.Action // that the caller needs a right to; "" needs none
	Scope        core.Scope  // that the caller's token needs

	handle func(*Door, http.ResponseWriter, *http.Request, *call) error
}

// Routes is the door's one table.
func Routes() []Route {
	create, view, control := core.ActRequestCreate, core.ActRequestView, core.ActRequestControl
	return []Route{
		{"POST", "/submissions", create, core.ScopeSubmit, (*Door).create},
		{"POST", "/submissions/{$}", create, core.ScopeSubmit, (*Door).create},
		{"POST", "/submissions/batch", create, core.ScopeSubmit, (*Door).createBatch},
		{"GET", "/submissions/batch", view, core.ScopeRead, (*Door).showBatch},
		{"GET", "/submissions/{token}", view, core.ScopeRead, (*Door).show},
		{"DELETE", "/submissions/{token}", control, core.ScopeSubmit, (*Door).remove},
		{"GET", "/languages", "", core.ScopeRead, (*Door).languages},
		{"GET", "/languages/{$}", "", core.ScopeRead, (*Door).languages},
		{"GET", "/languages/all", "", core.ScopeRead, (*Door).allLanguages},
		{"GET", "/languages/{id}", "", core.ScopeRead, (*Door).language},
		{"GET", "/statuses", "", core.ScopeRead, (*Door).statuses},
		{"GET", "/system_info", "", core.ScopeRead, (*Door).systemInfo},
		{"GET", "/config_info", "", core.ScopeRead, (*Door).configInfo},
		{"GET", "/about", "", core.ScopeRead, (*Door).about},
		{"GET", "/version", "", core.ScopeRead, (*Door).version},
		{"POST", "/authenticate", "", core.ScopeRead, (*Door).authenticate},
	}
}
