package lti

import (
	"encoding/json"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

// platformsData is what the page of all platforms shows.
type platformsData struct {
	Platforms []school.LTIPlatform
	Form      school.LTIPlatform
	Login     string
	Launch    string
	Deep      string
	Keys      string
	ConfigURL string
	Config    string
	Secure    bool
	Link      string // by which a platform registers itself; only once
}

func (s *pages) platformsData(r *page.Request, form school.LTIPlatform) (platformsData, error) {
	d := platformsData{
		Form: form, Login: s.URL.JoinPath("lti", "login").String(), Launch: s.LTI.LaunchURL(), Deep: s.LTI.DeepURL(), Keys: s.URL.JoinPath("lti", "jwks").String(),
		ConfigURL: s.URL.JoinPath("lti", "config.json").String(), Secure: s.secure(),
	}
	var err error
	if d.Platforms, err = s.LTI.Platforms(r.Context(), r.Actor()); err != nil {
		return d, err
	}
	raw, err := json.MarshalIndent(s.configuration(), "", "  ")
	d.Config = string(raw)
	return d, core.Wrap(err, core.CodeInternal, "", "the configuration cannot be written")
}

func (s *pages) platforms(r *page.Request) error {
	d, err := s.platformsData(r, school.LTIPlatform{})
	if err != nil {
		return err
	}
	return r.Render("lti/platforms", d)
}

func platformForm(r *page.Request) school.LTIPlatform {
	f := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	p := school.LTIPlatform{
		ID: f("id"), Name: f("name"), Issuer: f("issuer"), Client: f("client"), AuthURL: f("auth"), TokenURL: f("token"), KeysURL: f("keys"),
		NewClasses: f("new_classes") != "", Deployments: strings.Fields(f("deployments")), Origins: strings.Fields(f("origins")),
	}
	p.Revision, _ = strconv.ParseInt(f("revision"), 10, 64) // without one a change is refused
	return p
}

func (s *pages) addPlatform(r *page.Request) error {
	form := platformForm(r)
	form.Revision = 0
	p, err := s.LTI.PutPlatform(r.Context(), r.Actor(), form)
	if err == nil {
		return r.Redirect("/lti/platforms", r.T("Platform %s was added.", p.Name))
	}
	d, unseen := s.platformsData(r, form)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "lti/platforms", d)
}

func (s *pages) platform(r *page.Request) error {
	p, err := s.LTI.Platform(r.Context(), r.Actor(), r.PathValue("platform"))
	if err != nil {
		return err
	}
	return r.Render("lti/platform", p)
}

func (s *pages) editPlatform(r *page.Request) error {
	old, err := s.LTI.Platform(r.Context(), r.Actor(), r.PathValue("platform"))
	if err != nil {
		return err
	}
	form := platformForm(r)
	form.ID, form.Created = old.ID, old.Created
	if form.Revision == 0 {
		form.Revision = -1 // not an addition
	}
	if _, err = s.LTI.PutPlatform(r.Context(), r.Actor(), form); err == nil {
		return r.Redirect("/lti/platforms", r.T("Platform %s was changed.", form.Name))
	}
	return r.Again(err, "lti/platform", form)
}

func (s *pages) removePlatform(r *page.Request) error {
	id := r.PathValue("platform")
	if err := s.LTI.RemovePlatform(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect("/lti/platforms", r.T("Platform %s was removed.", id))
}
