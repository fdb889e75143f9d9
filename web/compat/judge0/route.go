package judge0

import (
	"net/http"

	"drover/core"
)

// Route is one thing that the compatible API does.
type Route struct {
	Method, Path string
	Action       core.Action // that the caller needs a right to; "" needs none
	Scope        core.Scope  // that the caller's token needs

	handle func(*API, http.ResponseWriter, *http.Request, *call) error
}

// Routes is the compatible API's one table.
func Routes() []Route {
	create, view, control := core.ActRequestCreate, core.ActRequestView, core.ActRequestControl
	return []Route{
		{"POST", "/submissions", create, core.ScopeSubmit, (*API).create},
		{"POST", "/submissions/{$}", create, core.ScopeSubmit, (*API).create},
		{"POST", "/submissions/batch", create, core.ScopeSubmit, (*API).createBatch},
		{"GET", "/submissions/batch", view, core.ScopeRead, (*API).showBatch},
		{"GET", "/submissions/{token}", view, core.ScopeRead, (*API).show},
		{"DELETE", "/submissions/{token}", control, core.ScopeSubmit, (*API).remove},
		{"GET", "/languages", "", core.ScopeRead, (*API).languages},
		{"GET", "/languages/{$}", "", core.ScopeRead, (*API).languages},
		{"GET", "/languages/all", "", core.ScopeRead, (*API).allLanguages},
		{"GET", "/languages/{id}", "", core.ScopeRead, (*API).language},
		{"GET", "/statuses", "", core.ScopeRead, (*API).statuses},
		{"GET", "/system_info", "", core.ScopeRead, (*API).systemInfo},
		{"GET", "/config_info", "", core.ScopeRead, (*API).configInfo},
		{"GET", "/about", "", core.ScopeRead, (*API).about},
		{"GET", "/version", "", core.ScopeRead, (*API).version},
		{"POST", "/authenticate", "", core.ScopeRead, (*API).authenticate},
	}
}
