package client_test

import (
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drover/web/api"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// apart are the operations that the client leaves out, by the first part of their path: the
// command line makes these on the cluster itself, where operators are.
var apart = map[string]string{
	"cluster":   "operators have the cluster itself",
	"schedules": "as above",
	"types":     "as above; a request names its type",
	"users":     "as above; a link is made where people are taught, too",
	"webhooks":  "set up once, by the page or with curl",
}

// leftOut are single ones.
var leftOut = map[string]string{
	"createClass": "people who make classes have the cluster", "changeClass": "as above", "deleteClass": "as above", "listAuditLog": "as above",
	"listWebhooks": "set up once, by the page or with curl", "addWebhook": "as above", "redeliver": "as above",
	"listTokens":        "the page shows them; logging out revokes the one that it knows",
	"listMyAssignments": "listAssignments of each class that one is in says more", "changeUserGrade": "ChangeGrade without a submission",
	"viewSeries": "pages show charts", "viewClassSeries": "as above", "viewHits": "operators have the cluster itself",
	"viewReport":     "for gradebooks of others, which call it themselves",
	"removeDeadline": "SetDeadline without a time", "listSubmissions": "ListSubmissions without an assignment",
}

// The client is written by hand, so this holds it against the API's own table: each method calls
// an operation that there is, and each operation is called or left out for a reason.
func TestClientHasWhatTheAPIHas(t *testing.T) {
	t.Parallel()
	called := make(map[string]bool)
	s := &site{answers: []func(*http.Request) (*http.Response, error){func(r *http.Request) (*http.Response, error) {
		id := operation(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), api.Prefix))
		require.NotEmpty(t, id, "the API has no %s %s", r.Method, r.URL.Path)
		called[id] = true
		return good(`{"submission": {"class": "x", "assignment": "x", "user": "x"}}`)(r)
	}}}
	c := reflect.ValueOf(asks(t, s))
	for i := range c.NumMethod() {
		args := []reflect.Value{}
		of := c.Method(i).Type()
		for n := range of.NumIn() {
			args = append(args, filled(of.In(n), t))
		}
		for _, out := range c.Method(i).Call(args) {
			if out.Kind() == reflect.Func {
				for range out.Seq2() {
					break
				}
			}
		}
	}
	for _, op := range api.Operations() {
		_, left := apart[strings.Split(op.Path, "/")[1]]
		_, single := leftOut[op.ID]
		assert.NotEqual(t, called[op.ID], left && !called[op.ID] || single, "%s %s (%s)", op.Method, op.Path, op.ID)
	}
}

// operation is the id of the one with a method and path, "" if there is none.
func operation(method, path string) string {
	all := api.Operations()
	i := slices.IndexFunc(all, func(op api.Operation) bool {
		pattern := regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(op.Path), `[^/]+`)
		return op.Method == method && regexp.MustCompile("^"+pattern+"$").MatchString(path)
	})
	if i < 0 {
		return ""
	}
	return all[i].ID
}

// filled is a value with all that a call may need.
func filled(of reflect.Type, t *testing.T) reflect.Value {
	v := reflect.New(of).Elem()
	switch {
	case of == reflect.TypeFor[io.Reader]():
		return reflect.ValueOf(strings.NewReader("x"))
	case of == reflect.TypeFor[io.Writer]():
		return reflect.ValueOf(io.Discard)
	case of.Kind() == reflect.Interface:
		return reflect.ValueOf(t.Context())
	case of.Kind() == reflect.String:
		v.SetString("x")
	case v.CanInt():
		v.SetInt(1)
	case of.Kind() == reflect.Func:
		v.Set(reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { return nil })) // an empty sequence
	case of.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && f.Kind() != reflect.Interface {
				f.Set(filled(f.Type(), t))
			}
		}
	}
	return v
}
