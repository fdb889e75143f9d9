package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/service"
)

// Config are the site's settings.
type Config struct {
	URL     *url.URL       // by which browsers reach it; https also if a proxy terminates TLS
	Proxies []netip.Prefix // trusted to report where a request came from
	Log     logrus.FieldLogger
}

// Handlers are the parts of the site. Each authenticates its callers itself: programs by a token, pages and their
// events by a session.
type Handlers struct {
	API    http.Handler // under /api/
	Judge0 http.Handler // under /judge0/
	Tango  http.Handler // under /tango/
	Jobe   http.Handler // under /jobe/
	Events http.Handler // under /events/
	Pages  http.Handler // all else
	Checks map[string]service.Check

	CrossSite []string // patterns of Pages that answer forms of other sites, and prove in another way that they are meant
}

// Handler dispatches to the handlers, behind what all requests pass. Returns INVALID for a URL that cannot be an
// origin in browsers.
func Handler(cfg Config, d Handlers) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("/api/", d.API)
	mux.Handle("/api/docs", d.Pages)
	mux.Handle("/api/docs/", d.Pages)
	mux.Handle("/judge0/", http.StripPrefix("/judge0", d.Judge0))
	mux.Handle("/tango/", http.StripPrefix("/tango", d.Tango))
	mux.Handle("/jobe/", http.StripPrefix("/jobe", d.Jobe))
	mux.Handle("/events/", d.Events)
	mux.Handle("GET /healthz", service.HealthHandler(untold(d.Checks)))
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /\n")
	})
	mux.Handle("/", d.Pages)
	compressed, err := compress(mux)
	if err != nil {
		return nil, err
	}
	origin := cfg.URL.Scheme + "://" + cfg.URL.Host
	if cfg.URL.Host == "" {
		return nil, core.Errorf(core.CodeInvalid, cfg.URL.String(), "%s is no address of a site: use one such as https://drover.example.org", cfg.URL)
	}
	protected, err := sameSite([]string{origin}, d.CrossSite, compressed)
	if err != nil {
		return nil, err
	}
	return believing(cfg.Proxies, logged(cfg.Log, headers(cfg.URL.Scheme == "https", protected)))
}

// errAway is all that strangers see of an internal fault.
var errAway = errors.New("it cannot be used now")

// untold returns the checks with errors that reveal no addresses and paths of the cluster.
func untold(checks map[string]service.Check) map[string]service.Check {
	all := make(map[string]service.Check, len(checks))
	for name, check := range checks {
		all[name] = func(ctx context.Context) error {
			if check(ctx) != nil {
				return errAway
			}
			return nil
		}
	}
	return all
}
