package judge0

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

// Routes is the compatible API's table of operations.
func Routes() []Route {
	create, view, control := core.ActRequestCreate, core.ActRequestView, core.ActRequestControl
	return []Route{
		{"POST", "/submissions", create, school.ScopeSubmit, (*API).create},
		{"POST", "/submissions/{$}", create, school.ScopeSubmit, (*API).create},
		{"POST", "/submissions/batch", create, school.ScopeSubmit, (*API).createBatch},
		{"GET", "/submissions/batch", view, school.ScopeRead, (*API).showBatch},
		{"GET", "/submissions/{token}", view, school.ScopeRead, (*API).show},
		{"DELETE", "/submissions/{token}", control, school.ScopeSubmit, (*API).remove},
		{"GET", "/languages", "", school.ScopeRead, (*API).languages},
		{"GET", "/languages/{$}", "", school.ScopeRead, (*API).languages},
		{"GET", "/languages/all", "", school.ScopeRead, (*API).allLanguages},
		{"GET", "/languages/{id}", "", school.ScopeRead, (*API).language},
		{"GET", "/statuses", "", school.ScopeRead, (*API).statuses},
		{"GET", "/system_info", "", school.ScopeRead, (*API).systemInfo},
		{"GET", "/config_info", "", school.ScopeRead, (*API).configInfo},
		{"GET", "/about", "", school.ScopeRead, (*API).about},
		{"GET", "/version", "", school.ScopeRead, (*API).version},
		{"POST", "/authenticate", "", school.ScopeRead, (*API).authenticate},
	}
}
