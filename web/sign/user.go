package sign

import (
	"strconv"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// userData is what the page of one user shows.
type userData struct {
	classes.Profile
	account.Sheet

	Form   userForm
	Grants []choice
}

// userData reads a user; form is the form as typed, nil for the stored values.
func (s *pages) userData(r *page.Request, form *userForm) (userData, error) {
	if err := core.Allow(r.Actor(), core.ActUserManage, core.Object{}); err != nil {
		return userData{}, err // also for users who may only view themselves
	}
	d := userData{}
	var err error
	if d.Profile, err = s.Classes.ViewUser(r.Context(), r.Actor(), r.PathValue("user")); err != nil {
		return d, err
	}
	if d.Sheet, err = s.Accounts.View(r.Context(), r.Actor(), d.Handle); err != nil {
		return d, err
	}
	d.Form = userForm{Name: d.Name, Email: d.Email, Roles: d.Roles}
	if form != nil {
		d.Form = *form
	}
	d.Grants = grants(r, d.Form.Roles)
	return d, nil
}

func (s *pages) user(r *page.Request) error {
	d, err := s.userData(r, nil)
	if err != nil {
		return err
	}
	return r.Render("sign/user", d)
}

// changed ends a form on a user's page.
func (s *pages) changed(r *page.Request, err error, sentence string) error {
	return s.changedAs(r, err, sentence, nil)
}

func (s *pages) changedAs(r *page.Request, err error, sentence string, form *userForm) error {
	if err == nil {
		return r.Redirect("/users/"+r.PathValue("user"), sentence)
	}
	d, unseen := s.userData(r, form)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "sign/user", d)
}

func (s *pages) editUser(r *page.Request) error {
	if err := core.Allow(r.Actor(), core.ActUserManage, core.Object{}); err != nil {
		return err
	}
	form := userFormOf(r)
	revision, err := strconv.ParseInt(r.PostFormValue("revision"), 10, 64)
	if err != nil {
		return core.Errorf(core.CodeInvalid, "revision", "%s", r.T("The form is incomplete: reload the page."))
	}
	err = s.edit(r, func(u *school.User) {
		u.Name, u.Email, u.Roles, u.Revision = form.Name, form.Email, form.Roles, revision
	})
	return s.changedAs(r, err, r.T("It is saved."), &form)
}

// edit changes a user from its present state.
func (s *pages) edit(r *page.Request, change func(u *school.User)) error {
	p, err := s.Classes.ViewUser(r.Context(), r.Actor(), r.PathValue("user"))
	if err != nil {
		return err
	}
	change(&p.User)
	_, err = s.Classes.EditUser(r.Context(), r.Actor(), p.User)
	return err
}

func (s *pages) disableUser(r *page.Request) error {
	disabled := r.PostFormValue("disabled") == "yes"
	sentence := r.T("The user may sign in again.")
	if disabled {
		sentence = r.T("The user was signed out and can do nothing any more.")
	}
	return s.changed(r, s.edit(r, func(u *school.User) { u.Disabled = disabled }), sentence)
}

func (s *pages) deleteUser(r *page.Request) error {
	handle := r.PathValue("user")
	if err := s.Classes.DeleteUser(r.Context(), r.Actor(), handle); err != nil {
		return s.changed(r, err, "")
	}
	return r.Redirect("/users", r.T("User %s is deleted.", handle))
}

// makeLink shows a sign-in link once, so it answers the form itself.
func (s *pages) makeLink(r *page.Request) error {
	link, err := s.Accounts.MakeLink(r.Context(), r.Actor(), r.PathValue("user"), account.LinkLife)
	if err != nil {
		return s.changed(r, err, "")
	}
	return r.Render("sign/userlink", map[string]string{"User": link.User, "Link": link.At(s.URL).URL})
}

func (s *pages) signUserOut(r *page.Request) error {
	return s.changed(r, s.Accounts.SignOut(r.Context(), r.Actor(), r.PathValue("user")), r.T("The user is signed out everywhere."))
}

func (s *pages) revokeUserToken(r *page.Request) error {
	err := s.Accounts.Revoke(r.Context(), r.Actor(), r.PathValue("user"), r.PathValue("id"))
	return s.changed(r, err, r.T("The token was revoked."))
}

func (s *pages) untieUser(r *page.Request) error {
	err := s.Accounts.Untie(r.Context(), r.Actor(), r.PathValue("user"), r.PostFormValue("issuer"), r.PostFormValue("subject"))
	return s.changed(r, err, r.T("The user cannot sign in that way any more."))
}
