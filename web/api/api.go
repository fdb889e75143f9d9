package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/requests"
	"drover/web/services"
)

//go:generate go test -run ^TestWrittenDescriptionIsCurrent$ . -update

// server implements the operations.
type server struct {
	services.Deps
	schemas huma.Registry // read only, once all operations are there
}

// New returns the API, for /api/. The caller is in the request's context, see package caller.
func New(p services.Deps) http.Handler {
	if p.Now == nil {
		p.Now = time.Now
	}
	mux := http.NewServeMux()
	s := &server{Deps: p}
	description := s.describe(mux)
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := json.Marshal(description)
		if err != nil {
			writeProblem(w, s.problem(Operation{ID: "openapi"}, core.Wrap(err, core.CodeInternal, "", "the description cannot be written")))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(raw) // the caller has gone away
	})
	return known(mux)
}

// describe registers all operations with the mux, and returns their description.
func (s *server) describe(mux *http.ServeMux) *huma.OpenAPI {
	api := huma.NewAPI(config(s.Name), wide{humago.NewAdapter(mux, Prefix)})
	api.UseMiddleware(s.gate)
	for _, e := range table() {
		e.register(s, api)
	}
	describeRaw(api.OpenAPI())
	s.schemas = api.OpenAPI().Components.Schemas
	return api.OpenAPI()
}

func config(site string) huma.Config {
	c := huma.DefaultConfig(strings.TrimSpace(site+" API"), "1")
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil // own ones, under /api
	c.RejectUnknownQueryParameters = true
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.Transformers = []huma.Transformer{problemOf}
	c.Servers = []*huma.Server{{URL: Prefix}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of drover, dro_…, with the scope that the operation requires."},
	}
	r := c.Components.Schemas
	r.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	r.RegisterTypeAlias(reflect.TypeFor[core.Part](), reflect.TypeFor[part]())
	return c
}

// schemaName returns the name of a type in the description.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[requests.View]():
		return "RequestView"
	case reflect.TypeFor[requests.Job]():
		return "BatchJob"
	case reflect.TypeFor[Page[requests.View]]():
		return "PageRequestView"
	case reflect.TypeFor[lease.View]():
		return "Calendar"
	case reflect.TypeFor[lease.HostView]():
		return "CalendarHost"
	case reflect.TypeFor[lease.Block]():
		return "CalendarBlock"
	case reflect.TypeFor[lease.Stretch]():
		return "CalendarFree"
	case reflect.TypeFor[lease.Due]():
		return "CalendarDue"
	case reflect.TypeFor[lease.Draft]():
		return "LeaseDraft"
	case reflect.TypeFor[lease.Want]():
		return "LeaseWant"
	case reflect.TypeFor[lease.Change]():
		return "LeaseChange"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// part describes how core.Part is written.
type part []any

// Schema describes name, score, maximum score.
func (part) Schema(huma.Registry) *huma.Schema {
	three := 3
	return &huma.Schema{
		Type: huma.TypeArray, Items: &huma.Schema{}, MinItems: &three, MaxItems: &three,
		Description: "name, score, maximum score",
	}
}

// wide lets the last part of a path hold slashes where it is {path}.
type wide struct{ huma.Adapter }

// Handle registers a route.
func (w wide) Handle(op *huma.Operation, handler func(huma.Context)) {
	routed := *op
	routed.Path = strings.Replace(op.Path, "{path}", "{path...}", 1)
	w.Adapter.Handle(&routed, handler)
}

// known answers for paths and methods that the mux does not have.
func known(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		answer := &refusal{header: http.Header{}}
		mux.ServeHTTP(answer, r)
		allow := answer.header.Get("Allow")
		switch {
		case allow == "":
			writeProblem(w, newProblem(http.StatusNotFound, core.Errorf(core.CodeNotFound, r.URL.Path, "the API has nothing at %.160q: see /api/docs", r.URL.Path)))
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", allow+", OPTIONS")
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Allow", allow+", OPTIONS")
			writeProblem(w, newProblem(http.StatusMethodNotAllowed, core.Errorf(core.CodeInvalid, r.URL.Path, "%.16q cannot be done there: use %s", r.Method, allow)))
		}
	})
}

// refusal is what the mux answers where it has no route.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }
