package api

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/stretchr/testify/require"

	"drover/core"
)

func of[I, O any]() entry {
	return is(Operation{ID: "x", Method: get, Path: "/x"}, func(*server, context.Context, core.Actor, *I) (*O, error) { return new(O), nil })
}

// What the registration does not know of types is no operation: nothing is left unchecked, or out of an answer.
func TestTypesThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	type embedded struct{ Name string }
	for why, e := range map[string]entry{
		"no place": of[struct{ Name string }, nothing](),
		"a cookie": of[struct {
			Name string `cookie:"name"`
		}, nothing](),
		"a fraction": of[struct {
			Part float64 `query:"part"`
		}, nothing](),
		"a pointer": of[struct {
			Name *string `query:"name"`
		}, nothing](),
		"numbers": of[struct {
			Numbers []int `query:"numbers"`
		}, nothing](),
		"a list in headers": of[struct {
			Names []string `header:"Name"`
		}, nothing](),
		"not exported": of[struct {
			name string `query:"name"`
		}, nothing](),
		"an embedded pointer": of[struct{ *embedded }, nothing](),
		"a body's own type": of[struct {
			Body string `contentType:"text/plain"`
		}, nothing](),
		"raw": of[struct{ RawBody []byte }, nothing](),
		"a number's header": of[nothing, struct {
			Size int `header:"Size"`
		}](),
		"its own type": of[nothing, struct {
			Kind string `header:"Content-Type"`
		}](),
		"an answer's type": of[nothing, struct {
			Body string `contentType:"text/plain"`
		}](),
		"a status as text": of[nothing, struct{ Status string }](),
	} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "operation x: field", why) }()
			e.register(&server{}, huma.NewAPI(config(""), humago.NewAdapter(http.NewServeMux(), "")))
		}()
	}
}
