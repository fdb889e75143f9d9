package sign

import (
	"drover/web/page"
)

// helpData is what the page for people who cannot sign in shows.
type helpData struct {
	User string // as typed
	Mail bool   // the site sends mail
	Sent bool
}

func (s *pages) help(r *page.Request) error {
	return r.Render("sign/help", helpData{Mail: s.Accounts.CanMail(), Sent: r.URL.Query().Has("sent")})
}

// sendHelp has a link mailed. Its answer is the same for every name, known or not.
func (s *pages) sendHelp(r *page.Request) error {
	d := helpData{User: r.PostFormValue("user"), Mail: true}
	if err := s.Accounts.AskReset(r.Context(), d.User, address(r), r.Tag.String(), s.URL); err != nil {
		d.Mail = s.Accounts.CanMail()
		return r.Again(mendable(err), "sign/help", d)
	}
	return r.Redirect("/sign-in/help?sent", "")
}
