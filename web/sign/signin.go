package sign

import (
	"errors"

	"drover/core"
	"drover/core/account"
	"drover/web/page"
)

// signInData is what the page to sign in shows.
type signInData struct {
	User     string // as typed
	Next     string // where to go afterwards
	Provider string // name of the provider of OpenID Connect; "" for none
}

func (s *pages) signInData(r *page.Request) signInData {
	d := signInData{User: r.PostFormValue("user"), Next: r.Next("/")}
	if s.provider != nil {
		d.Provider = s.provider.Name
	}
	return d
}

func (s *pages) signIn(r *page.Request) error {
	if r.Caller != nil {
		return r.Redirect(r.Next("/"), "")
	}
	return r.Render("sign/in", s.signInData(r))
}

// enter signs in by a password.
func (s *pages) enter(r *page.Request) error {
	in, err := s.Accounts.SignIn(r.Context(), r.PostFormValue("user"), r.PostFormValue("password"), address(r))
	if errors.Is(err, account.ErrWrong) {
		err = core.Errorf(core.CodeInvalid, "", "%s", r.T("There is no such user, or the password is wrong."))
	}
	if err != nil {
		return r.Again(mendable(err), "sign/in", s.signInData(r))
	}
	if err := s.begin(r, in); err != nil {
		return err
	}
	return r.Redirect(r.Next("/"), "")
}

func (s *pages) signOut(r *page.Request) error {
	if r.Caller == nil {
		return r.Redirect("/sign-in", "")
	}
	return s.end(r, r.T("You are signed out."))
}

// end ends the caller's session. The language stays.
func (s *pages) end(r *page.Request, sentence string) error {
	if err := s.keeper.End(r.Context()); err != nil {
		return err
	}
	if r.Caller.Language != "" {
		s.keeper.Sessions.Put(r.Context(), page.LanguageKey, r.Caller.Language)
	}
	return r.Redirect("/sign-in", sentence)
}

// link shows a button, so that fetching the link alone, as scanners of mail do, does not use it up.
func (s *pages) link(r *page.Request) error {
	r.W.Header().Set("Referrer-Policy", "no-referrer") // the secret is in the URL
	secret := r.FormValue("token")
	if err := s.Accounts.LookAtLink(r.Context(), secret); err != nil {
		return deadLink(r, err)
	}
	return r.Render("sign/link", secret)
}

func (s *pages) redeem(r *page.Request) error {
	in, err := s.Accounts.RedeemLink(r.Context(), r.PostFormValue("token"))
	if err != nil {
		return deadLink(r, err)
	}
	if err := s.begin(r, in); err != nil {
		return err
	}
	return r.Redirect("/", "")
}

// deadLink returns, in the reader's language, that a link is invalid.
func deadLink(r *page.Request, err error) error {
	if errors.Is(err, account.ErrLink) {
		err = core.Errorf(core.CodeForbidden, "", "%s", r.T("The link is invalid: it was used already, has expired, or is incomplete. Ask for another one."))
	}
	return err
}

// language sets the language of pages: in the account of a signed-in user, else in the session.
func (s *pages) language(r *page.Request) error {
	chosen := r.PostFormValue("language")
	known := chosen == ""
	for _, tag := range r.Languages() {
		known = known || tag.String() == chosen
	}
	if !known {
		return core.Errorf(core.CodeInvalid, "", "%s", r.T("This site does not have that language."))
	}
	if r.Caller != nil {
		if err := s.Accounts.SetLanguage(r.Context(), r.Actor(), chosen); err != nil {
			return err
		}
		s.keeper.Sessions.Remove(r.Context(), page.LanguageKey)
		return r.Redirect(r.Next("/"), "")
	}
	if err := s.Accounts.MayBegin(r.Context(), address(r)); err != nil {
		return err
	}
	s.keeper.Sessions.Put(r.Context(), page.LanguageKey, chosen)
	return r.Redirect(r.Next("/"), "")
}
