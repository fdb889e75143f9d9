package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"drover/core"
	"drover/core/school"
)

// Prefix is where version 1 of the API is.
const Prefix = "/api/v1"

// Operation is one line of the table.
type Operation struct {
	ID      string
	Method  string
	Path    string       // below Prefix; {path} may hold slashes
	Action  core.Action  // the right that is checked; "" for what every user may do
	Scope   school.Scope // that a token must have; "" if no caller is needed
	Status  int          // of a successful answer; 0 is 200, or 204 without a body
	Summary string
}

// entry is an operation with what it does.
type entry struct {
	Operation
	in, out reflect.Type // structs
	do      func(s *server, ctx context.Context, a core.Actor, in any) (any, error)
}

// The methods, short enough for a table.
const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// is ties an operation to its handler. All that is compiled for each of them is here.
func is[I, O any](op Operation, serve func(s *server, ctx context.Context, a core.Actor, in *I) (*O, error)) entry {
	return entry{op, reflect.TypeFor[I](), reflect.TypeFor[O](), func(s *server, ctx context.Context, a core.Actor, in any) (any, error) {
		return serve(s, ctx, a, in.(*I)) //nolint:errcheck,forcetypeassert // register makes it
	}}
}

// table returns the one table of operations.
func table() []entry {
	return slices.Concat(
		selfTable(), accountTable(), userTable(), classTable(), rosterTable(), assignmentTable(), handoutTable(), gradingTable(), submissionTable(), commentTable(), requestTable(), batchTable(), typeTable(), eventTable(),
		experimentTable(), taskTable(), webhookTable(), clusterTable(), leaseTable(), joinTable(), hostGroupTable(), statsTable(), platformTable(),
	)
}

// Operations returns what the API can do, in the order of its documentation.
func Operations() []Operation {
	var all []Operation
	for _, e := range table() {
		all = append(all, e.Operation)
	}
	return all
}

// operationKey is where the description of a route keeps its line of the table.
const operationKey = "operation"

// bodyTimeout is how long a body of JSON may take to arrive.
const bodyTimeout = 20 * time.Second

// bodyBytes bounds a body of JSON: the longest is an assignment with its text.
const bodyBytes = 256 << 10

// group returns the page of the documentation on which the operation is: by the first part of its path, but for what
// is about the people of a class, which would make the page of classes too long.
func (op Operation) group() string {
	parts := strings.Split(op.Path, "/")
	if len(parts) > 3 && parts[1] == "classes" && slices.Contains([]string{"members", "roster", "invitations"}, parts[3]) {
		return "people"
	}
	return parts[1]
}

// described returns the operation in huma's form.
func (op Operation) described() huma.Operation {
	d := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Summary: op.Summary, DefaultStatus: op.Status,
		Tags:         []string{op.group()},
		MaxBodyBytes: bodyBytes, BodyReadTimeout: bodyTimeout,
		Metadata: map[string]any{operationKey: op},
	}
	if op.Scope != "" {
		d.Security = []map[string][]string{{"token": {string(op.Scope)}}}
	}
	return d
}
