// Package lti has the pages by which people of learning platforms come to classes, and those on which admins add
// platforms. What it decides is core/classes/lti's.
//
// A launch is a window of its own. In a frame there are only the page with the link that opens that window, and those
// on which a teacher chooses what a course links, and only in a frame of the platform. Nobody is signed in by them.
package lti

import (
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"drover/core"
	"drover/core/classes/lti"
	"drover/core/school"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
)

//go:embed pages/*.html
var files embed.FS

// pages answer from the parts of the site.
type pages struct {
	services.Deps

	keeper *session.Keeper
}

// Section returns the pages; they need the service LTI.
func Section(p services.Deps, k *session.Keeper) page.Section {
	s := &pages{Deps: p, keeper: k}
	return page.Section{Name: "lti", Pages: files, Routes: append(s.classRoutes(), []page.Route{
		{Pattern: "GET /lti/login", Public: true, Serve: s.login},
		{Pattern: "POST /lti/login", Public: true, Serve: s.login},
		{Pattern: "POST /lti/launch", Public: true, Serve: s.launch},
		{Pattern: "GET /lti/jwks", Public: true, Serve: s.jwks},
		{Pattern: "GET /lti/config.json", Public: true, Serve: s.config},
		{Pattern: "GET /lti/deep", Public: true, Serve: s.deep},
		{Pattern: "POST /lti/deep", Public: true, Serve: s.doDeep},
		{Pattern: "GET /lti/tie", Serve: s.tie},
		{Pattern: "POST /lti/tie", Serve: s.doTie},
		{Pattern: "GET /lti/connect", Serve: s.connect},
		{Pattern: "POST /lti/connect", Serve: s.doConnect},
		{Pattern: "GET /lti/link", Serve: s.link},
		{Pattern: "POST /lti/link", Serve: s.doLink},
		{Pattern: "GET /lti/register/{secret}", Public: true, Serve: s.register},
		{Pattern: "POST /lti/register/{secret}", Public: true, Serve: s.doRegister},
		manage("POST /lti/registrations", s.openRegistration),
		manage("GET /lti/platforms", s.platforms),
		manage("POST /lti/platforms", s.addPlatform),
		manage("GET /lti/platforms/{platform}", s.platform),
		manage("POST /lti/platforms/{platform}", s.editPlatform),
		manage("POST /lti/platforms/{platform}/remove", s.removePlatform),
	}...)}
}

// CrossSite are the routes to which pages of platforms send forms: each proves in its own way that it is meant.
var CrossSite = []string{"POST /lti/login", "POST /lti/launch"}

func manage(pattern string, serve func(*page.Request) error) page.Route {
	return page.Route{Pattern: pattern, Action: core.ActUserManage, Serve: serve}
}

// cookieName is the name of the cookie that binds a login to its browser.
func (s *pages) cookieName() string {
	if s.secure() {
		return "__Host-drover-lti"
	}
	return "drover-lti"
}

func (s *pages) secure() bool { return s.URL.Scheme == "https" }

// keep gives the browser the cookie of a login. The launch is a form of another site, so the cookie has to be one that
// such forms carry.
func (s *pages) keep(r *page.Request, cookie string) {
	c := &http.Cookie{ //nolint:gosec // it is secure wherever the site is
		Name: s.cookieName(), Value: cookie, Path: "/", MaxAge: int((2 * lti.LoginLife) / time.Second), HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteLaxMode,
	}
	if s.secure() {
		c.SameSite = http.SameSiteNoneMode
	}
	http.SetCookie(r.W, c)
}

// kept returns the cookie of a login; "" for none.
func (s *pages) kept(r *page.Request) string {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

// framed lets a page be shown in a frame of a platform, and its forms go to an address.
func framed(r *page.Request, p *school.LTIPlatform, forms string) {
	h := r.W.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action "+forms+"; base-uri 'none'; frame-ancestors "+strings.Join(p.PageOrigins(), " "))
	h.Del("X-Frame-Options") // it cannot name a site
}

// writeJSON answers what programs of platforms ask for.
func writeJSON(r *page.Request, content any) error {
	raw, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "it cannot be written as JSON")
	}
	r.W.Header().Set("Content-Type", "application/json")
	r.W.Header().Set("Cache-Control", "max-age=300")
	_, _ = r.W.Write(append(raw, '\n')) // the reader has gone away
	return nil
}
