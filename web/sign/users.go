package sign

import (
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

// Bounds on one page of users. A filter reads at most mostReads pages of the store, however many users there are; the
// next page continues there.
const (
	usersShown = 50
	usersRead  = 500
	mostReads  = 4
)

// usersFilter says which users are listed.
type usersFilter struct {
	Text  string // in handle, name or e-mail address
	Role  string // of the cluster
	State string // "enabled", "disabled", or "" for both
	After string // handle
}

func (f usersFilter) none() bool { return f.Text == "" && f.Role == "" && f.State == "" }

func (f usersFilter) has(u *school.User) bool {
	text := strings.ToLower(f.Text)
	named := strings.Contains(u.Handle, text) || strings.Contains(strings.ToLower(u.Name), text) || strings.Contains(u.Email, text)
	may := f.Role == "" || slices.Contains(u.Roles, core.UserRole(f.Role))
	return named && may && (f.State == "" || u.Disabled == (f.State == "disabled"))
}

// usersData is what the page of all users shows.
type usersData struct {
	Users  []school.User
	Next   string // URL of the next page
	Partly bool   // there may be more matches, although this page is not full
	Filter usersFilter
	Roles  []core.UserRole
	Form   userForm // of a new user
	Grants []choice

	Platforms bool // people come from learning platforms too
}

// usersData reads a page of users.
func (s *pages) usersData(r *page.Request, form userForm) (usersData, error) {
	f := usersFilter{
		Text: strings.TrimSpace(r.URL.Query().Get("text")), Role: r.URL.Query().Get("role"), State: r.URL.Query().Get("state"), After: r.URL.Query().Get("after"),
	}
	d := usersData{Filter: f, Roles: clusterRoles, Form: form, Grants: grants(r, form.Roles), Platforms: s.LTI != nil}
	size, after := usersRead, f.After
	if f.none() {
		size = usersShown + 1
	}
	for range mostReads {
		some, err := s.Classes.ListUsers(r.Context(), r.Actor(), after, size)
		if err != nil {
			return d, err
		}
		for i := range some {
			if len(d.Users) == usersShown {
				d.Next = moreUsers(r, after)
				return d, nil
			}
			if after = some[i].Handle; f.has(&some[i]) {
				d.Users = append(d.Users, some[i])
			}
		}
		if len(some) < size {
			return d, nil
		}
	}
	d.Next, d.Partly = moreUsers(r, after), true
	return d, nil
}

// moreUsers returns the URL of the page of users after a handle.
func moreUsers(r *page.Request, after string) string {
	q := r.URL.Query()
	q.Set("after", after)
	return "/users?" + q.Encode()
}

func (s *pages) users(r *page.Request) error {
	d, err := s.usersData(r, userForm{})
	if err != nil {
		return err
	}
	return r.Render("sign/users", d)
}

func (s *pages) createUser(r *page.Request) error {
	form := userFormOf(r)
	u, err := s.Classes.CreateUser(r.Context(), r.Actor(), school.User{Handle: form.Handle, Name: form.Name, Email: form.Email, Roles: form.Roles})
	if err == nil {
		return r.Redirect("/users/"+u.Handle, r.T("User %s was created. The first sign-in needs a link.", u.Handle))
	}
	d, unseen := s.usersData(r, form)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "sign/users", d)
}

// userForm is the form of a user, as typed.
type userForm struct {
	Handle, Name, Email string
	Roles               []core.UserRole
}

func userFormOf(r *page.Request) userForm {
	f := userForm{Handle: strings.TrimSpace(r.PostFormValue("handle")), Name: strings.TrimSpace(r.PostFormValue("name")), Email: r.PostFormValue("email")}
	for _, word := range r.PostForm["role"] {
		f.Roles = append(f.Roles, core.UserRole(word))
	}
	return f
}

// clusterRoles are the roles of users that are not held in a class.
var clusterRoles = []core.UserRole{core.RoleAdmin, core.RoleOperator, core.RoleObserver, core.RoleRunner}

// roleWords say what a role allows.
var roleWords = map[core.UserRole]string{
	core.RoleAdmin:    page.Sentence("everything except what is personal to a user"),
	core.RoleOperator: page.Sentence("hosts, pools, queues and tasks; no grades"),
	core.RoleObserver: page.Sentence("reads the state of the cluster"),
	core.RoleRunner:   page.Sentence("runs requests of its own; often a program"),
}

func grants(r *page.Request, chosen []core.UserRole) []choice {
	all := make([]choice, len(clusterRoles))
	for i, role := range clusterRoles {
		all[i] = choice{Value: string(role), Text: r.T(roleWords[role]), Chosen: slices.Contains(chosen, role)}
	}
	return all
}
