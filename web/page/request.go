package page

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/language"

	"drover/core"
	"drover/web/caller"
)

// Names of values in a session.
const (
	flashKey    = "flash"
	LanguageKey = "language" // chosen in this browser; an account's own takes precedence
)

// Request is one request for a page.
type Request struct {
	*http.Request
	Speech

	W      http.ResponseWriter
	Caller *caller.Caller // nil if nobody is signed in

	site    *Site
	route   Route
	problem string // what is wrong with a form
	titles  map[string]string
	names   map[string]map[string]string // of classes
}

// Actor returns the acting user; only on routes that are not public.
func (r *Request) Actor() core.Actor { return r.Caller.Actor }

// Languages are those in which pages can be read.
func (r *Request) Languages() []language.Tag { return r.site.words.all }

// OwnName returns a language's name for itself: its catalogue has it for the key English.
func (r *Request) OwnName(tag language.Tag) string { return r.site.words.speech(tag).T("English") }

// Here returns the path of this page, or of the page whose form was sent.
func (r *Request) Here() string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return r.URL.RequestURI()
	}
	from, err := url.Parse(r.Referer())
	if err != nil || from.Path == "" {
		return "/"
	}
	return SafePath(from.RequestURI(), "/")
}

// Now is the site's clock.
func (r *Request) Now() time.Time { return r.site.cfg.Now() }

// view is what templates get.
type view struct {
	*Request
	Page         string // its name
	Site         string
	Announcement string
	Flash        string
	Problem      string // what was wrong with the form that is shown again
	Data         any
}

// Render answers with a page: "student/assignment" is assignment.html of section student.
func (r *Request) Render(name string, data any) error {
	return r.render(http.StatusOK, name, data)
}

// Again answers an invalid form with its page, with the error above it. Errors that the user cannot correct are
// returned.
func (r *Request) Again(err error, name string, data any) error {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeLimit, core.CodeConflict, core.CodeFull, core.CodeEnded:
		r.problem = err.Error()
		return r.render(http.StatusUnprocessableEntity, name, data)
	}
	return err
}

func (r *Request) render(status int, name string, data any) error {
	v := view{
		Request: r, Page: name, Site: r.site.cfg.Name, Announcement: r.site.cfg.Announcement,
		Problem: r.problem, Data: data,
	}
	if r.site.cfg.Sessions != nil {
		v.Flash = r.site.cfg.Sessions.PopString(r.Context(), flashKey)
	}
	var text bytes.Buffer // rendered completely before the first byte is sent, so that an error becomes an error page
	if err := r.site.pages[r.Tag.String()].execute(&text, name, v); err != nil {
		return core.Wrap(err, core.CodeInternal, name, "page %s cannot be rendered", name)
	}
	h := r.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", r.Tag.String())
	h.Set("Cache-Control", "no-store") // pages belong to one user
	r.W.WriteHeader(status)
	_, _ = r.W.Write(text.Bytes()) // the reader has gone away
	return nil
}

// Redirect answers a form; the next page shows the sentence, if there is one.
func (r *Request) Redirect(to, sentence string) error {
	if sentence != "" && r.site.cfg.Sessions != nil {
		r.site.cfg.Sessions.Put(r.Context(), flashKey, sentence)
	}
	http.Redirect(r.W, r.Request, to, http.StatusSeeOther)
	return nil
}

// Keep remembers a text in the reader's session, where the reader cannot change it; "" forgets it.
func (r *Request) Keep(key, text string) {
	if r.site.cfg.Sessions != nil {
		r.site.cfg.Sessions.Put(r.Context(), "kept "+key, text)
	}
}

// Kept returns what Keep remembered; "" for nothing.
func (r *Request) Kept(key string) string {
	if r.site.cfg.Sessions == nil {
		return ""
	}
	return r.site.cfg.Sessions.GetString(r.Context(), "kept "+key)
}

// sendToSignIn redirects to the sign-in, which returns to this page afterwards.
func (r *Request) sendToSignIn() {
	to := "/sign-in"
	if r.Method == http.MethodGet && r.URL.Path != "/" {
		to += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(r.W, r.Request, to, http.StatusSeeOther)
}

// Next returns where the form or query wants to go next: a page of this site, else fallback.
func (r *Request) Next(fallback string) string { return SafePath(r.FormValue("next"), fallback) }

// SafePath returns to if it is a path on this site, else fallback. Browsers read
// backslashes as slashes, and two slashes begin another site.
func SafePath(to, fallback string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" ||
		!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return fallback
	}
	return to
}
