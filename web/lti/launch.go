package lti

import (
	"net/http"
	"net/url"

	"drover/core"
	"drover/core/classes/lti"
	"drover/web/page"
)

// loginFields are the fields of a platform's login.
var loginFields = []string{"iss", "login_hint", "target_link_uri", "lti_message_hint", "client_id", "lti_deployment_id"}

// login sends the browser to the platform, which knows who it is. In a frame it shows a link that does so in a window
// of its own: browsers keep no cookies of a site in a frame of another.
func (s *pages) login(r *page.Request) error {
	l := lti.Login{
		Issuer: r.FormValue("iss"), Hint: r.FormValue("login_hint"), Target: r.FormValue("target_link_uri"), MessageHint: r.FormValue("lti_message_hint"),
		Client: r.FormValue("client_id"), Deployment: r.FormValue("lti_deployment_id"),
	}
	l.Framed = inFrame(r)
	if l.Framed && !deepLogin(l.Target) {
		p, err := s.LTI.Sender(r.Context(), l)
		if err != nil {
			return err
		}
		again := url.Values{}
		for _, name := range loginFields {
			if value := r.FormValue(name); value != "" {
				again.Set(name, value)
			}
		}
		framed(r, &p, "'none'")
		return r.Render("lti/window", "/lti/login?"+again.Encode())
	}
	to, cookie, err := s.LTI.Begin(r.Context(), l)
	if err != nil {
		return err
	}
	if !l.Framed {
		s.keep(r, cookie)
	}
	r.W.Header().Set("Cache-Control", "no-store")
	http.Redirect(r.W, r.Request, to, http.StatusSeeOther)
	return nil
}

// inFrame reports whether a browser asks for the content of a frame.
func inFrame(r *page.Request) bool {
	to := r.Header.Get("Sec-Fetch-Dest")
	return to == "iframe" || to == "frame" || to == "embed" || to == "object"
}

// launch lets somebody in whom a platform sends.
func (s *pages) launch(r *page.Request) error {
	if code := r.PostFormValue("error"); code != "" {
		return core.Errorf(core.CodeForbidden, "", "%s", r.T("The learning platform did not say who you are (%.80q): sign in there and open the link again.", code))
	}
	state, cookie := r.PostFormValue("state"), s.kept(r)
	if cookie == "" && !s.LTI.BegunInFrame(r.Context(), state) {
		return core.Errorf(core.CodeForbidden, "", "%s", r.T("Your browser has no cookie of this site: open the link on the learning platform in a window of its own, and allow cookies of this site."))
	}
	l, err := s.LTI.Accept(r.Context(), r.PostFormValue("id_token"), state, cookie)
	if err != nil {
		if core.Is(err, core.CodeForbidden) {
			s.Log.WithError(err).Warn("a launch of a learning platform was refused")
		}
		return err
	}
	entry, err := s.LTI.Enter(r.Context(), &l)
	if err != nil {
		return err
	}
	if l.Framed {
		return s.launched(r, &l, entry)
	}
	if entry.In != nil {
		if err := s.keeper.Begin(r.Context(), *entry.In); err != nil {
			return err
		}
	}
	return r.Redirect(entry.To, "")
}

func (s *pages) jwks(r *page.Request) error {
	set, err := s.LTI.JWKS(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(r, set)
}

// config answers with the configuration that Canvas reads.
func (s *pages) config(r *page.Request) error { return writeJSON(r, s.configuration()) }

func (s *pages) configuration() map[string]any {
	launch, deep := s.LTI.LaunchURL(), s.LTI.DeepURL()
	placed := func(where, message, target string) map[string]any {
		return map[string]any{"placement": where, "message_type": message, "target_link_uri": target, "text": s.Name}
	}
	menu := placed("course_navigation", "LtiResourceLinkRequest", launch)
	menu["windowTarget"] = "_blank"
	return map[string]any{
		"title": s.Name, "description": "Programming assignments, tested automatically", "target_link_uri": launch,
		"oidc_initiation_url": s.URL.JoinPath("lti", "login").String(), "public_jwk_url": s.URL.JoinPath("lti", "jwks").String(),
		"scopes": lti.Scopes(), "custom_fields": map[string]string{},
		"extensions": []any{map[string]any{
			"platform": "canvas.instructure.com", "privacy_level": "public", "domain": s.URL.Hostname(),
			"settings": map[string]any{"placements": []any{
				menu, placed("assignment_selection", "LtiDeepLinkingRequest", deep), placed("link_selection", "LtiDeepLinkingRequest", deep),
			}},
		}},
	}
}
