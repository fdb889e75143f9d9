package sign

import (
	"embed"
	"net"

	"drover/core"
	"drover/core/account"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
)

//go:embed pages/*.html
var files embed.FS

// pages answer from the parts of the site.
type pages struct {
	services.Deps

	keeper   *session.Keeper
	provider *Provider // nil: users sign in by password only
}

// Section returns the pages. site is the URL by which browsers reach them, without a path;
// provider may be nil.
func Section(p services.Deps, k *session.Keeper, provider *Provider) page.Section {
	s := &pages{Deps: p, keeper: k, provider: provider}
	all := page.Section{Name: "sign", Pages: files, Routes: []page.Route{
		{Pattern: "GET /sign-in", Public: true, Serve: s.signIn},
		{Pattern: "POST /sign-in", Public: true, Serve: s.enter},
		{Pattern: "GET /sign-in/link", Public: true, Serve: s.link},
		{Pattern: "POST /sign-in/link", Public: true, Serve: s.redeem},
		{Pattern: "GET /sign-in/help", Public: true, Serve: s.help},
		{Pattern: "POST /sign-in/help", Public: true, Serve: s.sendHelp},
		{Pattern: "POST /sign-out", Public: true, Serve: s.signOut},
		{Pattern: "POST /language", Public: true, Serve: s.language},
		{Pattern: "GET /account", Serve: s.account},
		{Pattern: "GET " + session.PasswordPage, Serve: s.password},
		{Pattern: "POST " + session.PasswordPage, Serve: s.changePassword},
		{Pattern: "POST /account/tokens", Serve: s.issueToken},
		{Pattern: "POST /account/tokens/{id}/revoke", Serve: s.revokeToken},
		{Pattern: "POST /account/identities/untie", Serve: s.untie},
		{Pattern: "POST /account/sign-out", Serve: s.signOutEverywhere},
		manage("GET /users", s.users),
		manage("POST /users", s.createUser),
		manage("GET /users/{user}", s.user),
		manage("POST /users/{user}", s.editUser),
		manage("POST /users/{user}/disable", s.disableUser),
		manage("POST /users/{user}/delete", s.deleteUser),
		manage("POST /users/{user}/link", s.makeLink),
		manage("POST /users/{user}/sign-out", s.signUserOut),
		manage("POST /users/{user}/tokens/{id}/revoke", s.revokeUserToken),
		manage("POST /users/{user}/identities/untie", s.untieUser),
	}}
	if provider != nil {
		all.Routes = append(all.Routes,
			page.Route{Pattern: "GET /sign-in/oidc", Public: true, Serve: s.leave},
			page.Route{Pattern: "GET /sign-in/oidc/callback", Public: true, Serve: s.comeBack})
	}
	return all
}

func manage(pattern string, serve func(*page.Request) error) page.Route {
	return page.Route{Pattern: pattern, Action: core.ActUserManage, Serve: serve}
}

// address is where a request came from.
func address(r *page.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// begin signs a user in. The language chosen in the browser before stays.
func (s *pages) begin(r *page.Request, in account.SignedIn) error {
	chosen := s.keeper.Sessions.GetString(r.Context(), page.LanguageKey)
	if err := s.keeper.Begin(r.Context(), in); err != nil {
		return err
	}
	if chosen != "" {
		s.keeper.Sessions.Put(r.Context(), page.LanguageKey, chosen)
	}
	return nil
}

// mendable converts a refusal that the user can correct into one that the form shows.
func mendable(err error) error {
	if core.Is(err, core.CodeForbidden) {
		return core.Errorf(core.CodeInvalid, "", "%s", err.Error())
	}
	return err
}
