package page

import (
	"context"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/web/caller"
)

// Config is what all pages of a site share.
type Config struct {
	Name         string // of the site, such as a school's
	Announcement string // that every page shows; "" for none
	Sessions     *scs.SessionManager
	Log          logrus.FieldLogger
	Now          func() time.Time // nil: time.Now
	Titles       Titles           // nil: pages show handles
}

// Titles tells what people call what they see. Each answer is the handle where there is no title, or where the reader
// may not see it.
type Titles interface {
	ClassTitle(ctx context.Context, a core.Actor, class string) string
	AssignmentTitle(ctx context.Context, a core.Actor, class, handle string) string
	PersonName(ctx context.Context, a core.Actor, class, user string) string
	Names(ctx context.Context, a core.Actor, class string) map[string]string // of members, by handle
}

// Site is all pages.
type Site struct {
	cfg    Config
	words  *words
	pages  map[string]*templates // by language
	static *static
	names  map[string]bool // of sections
	routes []Route
	mux    *http.ServeMux
}

// New makes a site of sections. Returns INTERNAL for a template or catalogue that cannot be read.
func New(cfg Config, sections ...Section) (*Site, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Site{cfg: cfg, pages: make(map[string]*templates), mux: http.NewServeMux()}
	var err error
	if s.words, err = readWords(); err != nil {
		return nil, err
	}
	if s.static, err = readStatic(); err != nil {
		return nil, err
	}
	s.names = make(map[string]bool)
	for i := range sections {
		s.names[sections[i].Name] = true
	}
	for _, tag := range s.words.all {
		if s.pages[tag.String()], err = s.parse(s.words.speech(tag), sections); err != nil {
			return nil, err
		}
	}
	s.mux.Handle("GET "+staticPrefix, s.static)
	for _, section := range sections {
		for _, route := range section.Routes {
			s.routes = append(s.routes, route)
			s.mux.Handle(route.Pattern, s.handler(route))
		}
	}
	s.mux.Handle("/", s.handler(Route{Public: true, Serve: nowhere}))
	return s, nil
}

// Routes returns the table of all routes.
func (s *Site) Routes() []Route { return s.routes }

// ServeHTTP implements http.Handler. Session and caller are in the request's context already.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// handler checks that the caller may use the route at all, and shows errors.
func (s *Site) handler(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := s.request(w, hr, route)
		if r.Caller == nil && !route.Public {
			r.sendToSignIn()
			return
		}
		limit := route.Body
		if limit == 0 {
			limit = MaxForm
		}
		hr.Body = http.MaxBytesReader(w, hr.Body, limit)
		if err := route.Serve(r); err != nil {
			r.fail(err)
		}
	})
}

func nowhere(r *Request) error {
	return core.Errorf(core.CodeNotFound, "", "%s", r.T("There is no such page."))
}

func (s *Site) request(w http.ResponseWriter, hr *http.Request, route Route) *Request {
	c := caller.From(hr.Context())
	chosen := ""
	if c != nil {
		chosen = c.Language
	}
	if chosen == "" && s.cfg.Sessions != nil {
		chosen = s.cfg.Sessions.GetString(hr.Context(), LanguageKey)
	}
	tag := s.words.choose(chosen, hr.Header.Get("Accept-Language"))
	return &Request{Request: hr, W: w, Caller: c, Speech: s.words.speech(tag), site: s, route: route}
}
