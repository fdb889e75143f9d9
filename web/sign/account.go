package sign

import (
	"strconv"
	"time"

	"golang.org/x/text/language"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// accountData is what the page of one's own account shows.
type accountData struct {
	classes.Profile
	account.Sheet

	Languages []choice
	Scopes    []choice
	Form      tokenForm
}

// choice is one of several values of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

func (s *pages) accountData(r *page.Request, form tokenForm) (accountData, error) {
	d := accountData{Form: form, Scopes: scopes(r, form.Scopes)}
	var err error
	if d.Profile, err = s.Classes.ViewUser(r.Context(), r.Actor(), r.Actor().Handle); err != nil {
		return d, err
	}
	if d.Sheet, err = s.Accounts.View(r.Context(), r.Actor(), r.Actor().Handle); err != nil {
		return d, err
	}
	d.Languages = languages(r, d.Account.Language)
	return d, nil
}

// languages returns the site's languages, each under its own name.
func languages(r *page.Request, chosen string) []choice {
	all := []choice{{Value: "", Text: r.T("as the browser says"), Chosen: chosen == ""}}
	for _, tag := range r.Languages() {
		all = append(all, choice{Value: tag.String(), Text: r.OwnName(tag), Chosen: chosen != "" && tag == language.Make(chosen)})
	}
	return all
}

func (s *pages) account(r *page.Request) error {
	d, err := s.accountData(r, tokenForm{Days: defaultDays, Scopes: []school.Scope{school.ScopeRead, school.ScopeSubmit}})
	if err != nil {
		return err
	}
	return r.Render("sign/account", d)
}

// accountAgain shows the account again, with the error of a form.
func (s *pages) accountAgain(r *page.Request, wrong error, form tokenForm) error {
	d, err := s.accountData(r, form)
	if err != nil {
		return err
	}
	return r.Again(wrong, "sign/account", d)
}

// passwordData is what the page that sets a password shows.
type passwordData struct {
	account.Sheet

	User string
}

func (s *pages) passwordData(r *page.Request) (passwordData, error) {
	sheet, err := s.Accounts.View(r.Context(), r.Actor(), r.Actor().Handle)
	return passwordData{Sheet: sheet, User: r.Actor().Handle}, err
}

func (s *pages) password(r *page.Request) error {
	d, err := s.passwordData(r)
	if err != nil {
		return err
	}
	return r.Render("sign/password", d)
}

func (s *pages) changePassword(r *page.Request) error {
	d, err := s.passwordData(r)
	if err != nil {
		return err
	}
	password := r.PostFormValue("password")
	if password != r.PostFormValue("again") {
		wrong := core.Errorf(core.CodeInvalid, "", "%s", r.T("The two new passwords differ: type the same one twice."))
		return r.Again(wrong, "sign/password", d)
	}
	in, err := s.Accounts.ChangePassword(r.Context(), r.Actor(), r.PostFormValue("was"), password, address(r))
	if err != nil {
		return r.Again(mendable(err), "sign/password", d)
	}
	if err := s.begin(r, in); err != nil {
		return err
	}
	to := "/account"
	if d.Account.MustChange { // the user was on the way to another page
		to = "/"
	}
	return r.Redirect(to, r.T("Your password was changed. You were signed out everywhere else."))
}

func (s *pages) untie(r *page.Request) error {
	err := s.Accounts.Untie(r.Context(), r.Actor(), r.Actor().Handle, r.PostFormValue("issuer"), r.PostFormValue("subject"))
	if err != nil {
		return s.accountAgain(r, err, tokenForm{Days: defaultDays})
	}
	return r.Redirect("/account", r.T("You cannot sign in that way any more."))
}

func (s *pages) signOutEverywhere(r *page.Request) error {
	if err := s.Accounts.SignOut(r.Context(), r.Actor(), r.Actor().Handle); err != nil {
		return err
	}
	return s.end(r, r.T("You were signed out everywhere."))
}

// defaultDays is a token's default lifetime.
var defaultDays = strconv.Itoa(int(account.DefaultTokenLife / (24 * time.Hour)))
