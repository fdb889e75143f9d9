package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"drover/core"
	"drover/core/school"
	"drover/web/caller"
)

// exchange is one request with its answer, for handlers that stream.
type exchange struct {
	r *http.Request
	w http.ResponseWriter
}

type exchangeKey struct{}

// exchanged returns what is exchanged now.
func exchanged(ctx context.Context) exchange {
	e, _ := ctx.Value(exchangeKey{}).(exchange)
	return e
}

// gate admits callers that are authenticated, have the scope, and stay within the rate.
func (s *server) gate(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	op, ok := ctx.Operation().Metadata[operationKey].(Operation)
	if !ok {
		op = Operation{Scope: school.ScopeAdmin} // a bug, and harmless
	}
	w.Header().Set("Cache-Control", "no-store") // answers belong to one user
	c := caller.From(ctx.Context())
	p := s.limit(w, r, c)
	if p == nil {
		p = admit(op, c)
	}
	if p != nil {
		writeProblem(w, p)
		return
	}
	next(huma.WithValue(ctx, exchangeKey{}, exchange{r, w}))
}

// admit returns why the caller is refused; nil if it is not.
func admit(op Operation, c *caller.Caller) *Problem {
	switch {
	case op.Scope == "":
		return nil
	case c == nil:
		p := newProblem(http.StatusUnauthorized, core.Errorf(core.CodeForbidden, "",
			"nobody is signed in: send a token as Authorization: Bearer dro_…, and see that it has not expired"))
		p.headers = http.Header{"Www-Authenticate": {`Bearer realm="drover"`}}
		return p
	case !c.Allows(op.Scope):
		p := newProblem(http.StatusForbidden, core.Errorf(core.CodeForbidden, c.Token,
			"the token has no scope %q, which this needs: make one that has it", op.Scope))
		p.headers = http.Header{"Www-Authenticate": {`Bearer realm="drover", error="insufficient_scope", scope="` + string(op.Scope) + `"`}}
		return p
	}
	return nil
}
