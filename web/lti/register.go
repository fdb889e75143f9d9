package lti

import (
	"drover/core"
	"drover/core/classes/lti"
	"drover/core/school"
	"drover/web/page"
)

// registerPage is what a platform shows an admin who registers this site there.
type registerPage struct {
	lti.Registration

	Done *school.LTIPlatform // nil: it is to be confirmed
}

// openRegistration shows the admin a link by which a platform registers itself; only this answer has it.
func (s *pages) openRegistration(r *page.Request) error {
	secret, err := s.LTI.OpenRegistration(r.Context(), r.Actor())
	if err != nil && !core.Is(err, core.CodeLimit) {
		return err
	}
	d, failed := s.platformsData(r, school.LTIPlatform{})
	if failed != nil {
		return failed
	}
	if err != nil {
		return r.Again(err, "lti/platforms", d)
	}
	d.Link = s.URL.JoinPath("lti", "register", secret).String()
	return r.Render("lti/platforms", d)
}

// registering reads what the platform asks for. The page may be in a frame of the platform, whose pages are not known
// yet: the link's secret lets it be there.
func (s *pages) registering(r *page.Request) (registerPage, error) {
	h := r.W.Header()
	h.Set("Referrer-Policy", "no-referrer")
	d := registerPage{Registration: lti.Registration{
		Secret: r.PathValue("secret"), Configuration: r.FormValue("openid_configuration"), Token: r.FormValue("registration_token"),
	}}
	if err := s.LTI.CheckRegistration(r.Context(), d.Registration); err != nil {
		return d, err
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors https:")
	h.Set("Cross-Origin-Opener-Policy", "unsafe-none") // the platform's window waits for the end
	h.Del("X-Frame-Options")
	return d, nil
}

func (s *pages) register(r *page.Request) error {
	d, err := s.registering(r)
	if err != nil {
		return err
	}
	return r.Render("lti/register", d)
}

func (s *pages) doRegister(r *page.Request) error {
	d, err := s.registering(r)
	if err != nil {
		return err
	}
	p, err := s.LTI.Register(r.Context(), d.Registration)
	if core.Is(err, core.CodeUnavailable) {
		err = core.Wrap(err, core.CodeInvalid, d.Host(), "%s", r.T("The platform did not register this site"))
	}
	if err != nil {
		return r.Again(err, "lti/register", d)
	}
	d.Done = &p
	return r.Render("lti/register", d)
}
