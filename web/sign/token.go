package sign

import (
	"slices"
	"strconv"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

// tokenForm is the form of a new token, as typed.
type tokenForm struct {
	Name   string
	Days   string
	Scopes []school.Scope
}

// scopeWords say what a scope is good for.
var scopeWords = map[school.Scope]string{
	school.ScopeRead:    page.Sentence("read what you may see"),
	school.ScopeSubmit:  page.Sentence("submit, run, cancel and try again"),
	school.ScopeTeach:   page.Sentence("change classes, assignments and grades"),
	school.ScopeCluster: page.Sentence("hosts, pools, queues and schedules"),
	school.ScopeAdmin:   page.Sentence("users and classes"),
}

// scopes returns those that are of use to the caller.
func scopes(r *page.Request, chosen []school.Scope) []choice {
	a := r.Actor()
	admin := a.Has(core.RoleAdmin)
	teaches := admin
	for class := range a.In {
		teaches = teaches || a.StaffOf(class)
	}
	cluster := core.Allow(a, core.ActClusterView, core.Object{}) == nil
	var all []choice
	for _, scope := range school.Scopes() {
		if scope == school.ScopeTeach && !teaches || scope == school.ScopeCluster && !cluster || scope == school.ScopeAdmin && !admin {
			continue
		}
		all = append(all, choice{Value: string(scope), Text: r.T(scopeWords[scope]), Chosen: slices.Contains(chosen, scope)})
	}
	return all
}

// issueToken makes a token and shows its secret once, so it answers the form itself.
func (s *pages) issueToken(r *page.Request) error {
	form := tokenForm{Name: r.PostFormValue("name"), Days: r.PostFormValue("days")}
	for _, word := range r.PostForm["scope"] {
		form.Scopes = append(form.Scopes, school.Scope(word))
	}
	days, err := strconv.ParseUint(form.Days, 10, 16)
	if err != nil || days == 0 || time.Duration(days)*24*time.Hour > school.MaxTokenLife {
		wrong := core.Errorf(core.CodeInvalid, "days", "%s", r.T("A token lasts from one to %d days.", int(school.MaxTokenLife.Hours())/24))
		return s.accountAgain(r, wrong, form)
	}
	secret, t, err := s.Accounts.IssueToken(r.Context(), r.Actor(), form.Name, form.Scopes, time.Duration(days)*24*time.Hour)
	if err != nil {
		return s.accountAgain(r, err, form)
	}
	return r.Render("sign/token", map[string]any{"Token": t, "Secret": secret})
}

func (s *pages) revokeToken(r *page.Request) error {
	if err := s.Accounts.Revoke(r.Context(), r.Actor(), r.Actor().Handle, r.PathValue("id")); err != nil {
		return err
	}
	return r.Redirect("/account", r.T("The token was revoked."))
}
