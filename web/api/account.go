package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
	"drover/web/caller"
	"drover/web/services"
)

func accountTable() []entry {
	return []entry{
		is(Operation{"signIn", post, "/sign-in", "", "", 201, "Create a token by a password; only this answer has its secret"}, (*server).signIn),
		is(Operation{"listTokens", get, "/tokens", "", school.ScopeRead, 0, "List the caller's tokens, newest first"}, (*server).listTokens),
		is(Operation{"revokeToken", remove, "/tokens/{id}", "", school.ScopeRead, 0, "Revoke the calling token or, with the scope admin, another token of its user"}, (*server).revokeToken),
		is(Operation{"listUserTokens", get, "/users/{user}/tokens", core.ActAccount, school.ScopeRead, 0, "List a user's tokens, newest first: the caller's, or any user's for admins"}, (*server).listUserTokens),
		is(Operation{"revokeUserToken", remove, "/users/{user}/tokens/{id}", core.ActAccount, school.ScopeAdmin, 0, "Revoke a user's token: the caller's, or any user's for admins"}, (*server).revokeUserToken),
		is(Operation{"makeLink", post, "/users/{user}/link", core.ActUserManage, school.ScopeAdmin, 201, "Create a one-time sign-in link for a user; only this answer has it"}, (*server).makeLink),
		is(Operation{"makeLinks", post, "/users/links", core.ActUserManage, school.ScopeAdmin, 201, "Create a sign-in link for each member of a class who is not disabled; only this answer has them"}, (*server).makeLinks),
	}
}

// SignIn is a request for a token.
type SignIn struct {
	User     string         `json:"user" maxLength:"320" doc:"handle or e-mail address"`
	Password string         `json:"password" maxLength:"4096"`
	Name     string         `json:"name" minLength:"1" maxLength:"200" doc:"name of the token in lists, such as the name of a computer"`
	Scopes   []school.Scope `json:"scopes" minItems:"1" maxItems:"5" enum:"read,submit,teach,cluster,admin" doc:"scopes of the token"`
	Life     int64          `json:"life_ms,omitempty" minimum:"60000" maximum:"31622400000" doc:"lifetime; 90 days by default"`
}

// NewToken is a token with its secret.
type NewToken struct {
	Secret string       `json:"secret" doc:"dro_…, for Authorization: Bearer"`
	Token  school.Token `json:"token"`
}

// signIn is how programs get tokens. Users who must change their password first do so on the pages.
func (s *server) signIn(ctx context.Context, _ core.Actor, in *struct{ Body SignIn }) (*struct{ Body NewToken }, error) {
	signed, err := s.Accounts.SignIn(ctx, in.Body.User, in.Body.Password, services.Host(exchanged(ctx).r))
	if err != nil {
		return nil, err
	}
	if signed.Account.MustChange {
		return nil, core.Errorf(core.CodeForbidden, signed.User.Handle, "the password was set by somebody else: sign in with a browser and choose one of your own first")
	}
	a, err := s.Classes.Actor(ctx, signed.User.Handle)
	if err != nil {
		return nil, err
	}
	secret, t, err := s.Accounts.IssueToken(ctx, a, in.Body.Name, in.Body.Scopes, time.Duration(in.Body.Life)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return &struct{ Body NewToken }{NewToken{secret, t}}, nil
}

func (s *server) listTokens(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[school.Token]], error) {
	return s.tokens(ctx, a, a.Handle)
}

func (s *server) listUserTokens(ctx context.Context, a core.Actor, in *OneUser) (*answer[Page[school.Token]], error) {
	return s.tokens(ctx, a, in.User)
}

// tokens answers with all: nobody has more than core.MaxTokens.
func (s *server) tokens(ctx context.Context, a core.Actor, handle string) (*answer[Page[school.Token]], error) {
	sheet, err := s.Accounts.View(ctx, a, handle)
	return all(sheet.Tokens, err)
}

// revokeToken lets a read-only token revoke itself, and no other one.
func (s *server) revokeToken(ctx context.Context, a core.Actor, in *One) (*done, error) {
	if c := caller.From(ctx); in.ID != c.Token {
		if p := admit(Operation{Scope: school.ScopeAdmin}, c); p != nil {
			return nil, p
		}
	}
	return &done{}, s.Accounts.Revoke(ctx, a, a.Handle, in.ID)
}

func (s *server) revokeUserToken(ctx context.Context, a core.Actor, in *struct {
	OneUser
	One
},
) (*done, error) {
	return &done{}, s.Accounts.Revoke(ctx, a, in.User, in.ID)
}

// LinkLife is the lifetime of a link.
type LinkLife struct {
	Life int64 `query:"life_ms" minimum:"60000" maximum:"2592000000" doc:"lifetime of a link; an hour by default"`
}

func (l LinkLife) time() time.Duration { return time.Duration(l.Life) * time.Millisecond }

func (s *server) makeLink(ctx context.Context, a core.Actor, in *struct {
	OneUser
	LinkLife
},
) (*answer[account.Link], error) {
	l, err := s.Accounts.MakeLink(ctx, a, in.User, in.time())
	if err != nil {
		return nil, err
	}
	return answered(l.At(s.URL), nil)
}

func (s *server) makeLinks(ctx context.Context, a core.Actor, in *struct {
	LinkLife
	Cursor
	Class string        `query:"class" required:"true" maxLength:"64" doc:"handle of the class"`
	Role  core.UserRole `query:"role" enum:"student,teaching_assistant,teacher" doc:"only for members with this role"`
},
) (*answer[Page[account.Link]], error) {
	links, next, err := s.Accounts.MakeLinks(ctx, a, account.ClassLinks{
		Class: in.Class, Role: in.Role, Life: in.time(), After: in.Cursor.Cursor, Limit: in.limit(),
	})
	for i := range links {
		links[i] = links[i].At(s.URL)
	}
	return answered(Page[account.Link]{Items: links, Next: next}, err)
}
