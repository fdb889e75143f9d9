package compattest

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

// Caller is a kind of caller of a route, as tests of all routes have them.
type Caller struct {
	Name string
	Key  string // a token
	May  Answer
}

// Answer is what becomes of a call.
type Answer string

// What becomes of calls.
const (
	Done      Answer = "done"
	Unknown   Answer = "unknown"   // it is not known who calls
	Forbidden Answer = "forbidden" // and told so
	Hidden    Answer = "hidden"    // the thing is told to be not there
)

// Callers are all kinds of callers of a route that is about something of ann's, with what
// is to become of their calls by the route's action and scope.
func (w *Fixture) Callers(act core.Action, scope school.Scope) []Caller {
	w.T.Helper()
	others := slices.DeleteFunc(school.Scopes(), func(s school.Scope) bool { return s == scope })
	w.User(school.User{Handle: "zoe", Roles: []core.UserRole{core.RoleRunner}, Disabled: true})
	w.Token("without the scope", "ann", others...)
	w.Token("disabled", "zoe", scope)
	w.Token("of another", "bob", scope)
	w.Token("of an operator", "olga", scope)
	w.Token("without the right", "nora", scope)
	w.Token("its own", "ann", scope)
	revoked := w.Token("revoked", "ann", scope)
	require.NoError(w.T, w.Deps.Accounts.Revoke(w.T.Context(), core.Actor{Handle: "ann"}, "ann", revoked.ID))
	w.expired("expired", scope)
	w.Tokens["made up"] = "dro_" + strings.Repeat("a", 49)
	w.Tokens["cut off"] = w.Tokens["ann"][:len(w.Tokens["ann"])-1]
	w.Tokens["none"] = ""

	another, right := Done, Done // of bob, who may do as ann, and nora, who may nothing
	if act == core.ActRequestCreate {
		right = Forbidden
	} else if act != "" {
		another, right = Hidden, Hidden
	}
	may := map[string]Answer{
		"none": Unknown, "made up": Unknown, "cut off": Unknown, "revoked": Unknown, "expired": Unknown, "disabled": Unknown,
		"without the scope": Forbidden, "without the right": right, "of another": another, "of an operator": Done, "its own": Done,
	}
	all := make([]Caller, 0, len(may))
	for name, answer := range may {
		all = append(all, Caller{name, w.Tokens[name], answer})
	}
	return all
}

// expired makes a token of ann's whose time is over.
func (w *Fixture) expired(name string, scope school.Scope) {
	w.T.Helper()
	then := &account.Service{Store: w.Store, Now: func() time.Time { return time.Now().Add(-2 * time.Hour) }}
	secret, _, err := then.IssueToken(w.T.Context(), core.Actor{Handle: "ann"}, name, []school.Scope{scope}, time.Hour)
	require.NoError(w.T, err)
	w.Tokens[name] = secret
}
