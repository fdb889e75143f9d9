// Package frontend assembles the site of a cluster: pages, API, events, and the compatible APIs for programs of other
// systems, each with the authentication of its callers.
package frontend

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/redisstore"
	"drover/core/service"
	"drover/core/webhook"
	"drover/web"
	"drover/web/api"
	"drover/web/compat/jobe"
	"drover/web/compat/judge0"
	"drover/web/compat/tango"
	"drover/web/live"
	"drover/web/looks"
	"drover/web/lti"
	"drover/web/operator"
	"drover/web/page"
	"drover/web/services"
	"drover/web/session"
	"drover/web/sign"
	"drover/web/staff"
	"drover/web/student"
)

// Config are the site's settings.
type Config struct {
	URL          *url.URL       // by which browsers reach it
	Proxies      []netip.Prefix // trusted to report where a request came from
	Announcement string         // that every page shows; "" for none
	Provider     *sign.Provider // by which users can sign in too; nil for none
	Version      string
	Log          logrus.FieldLogger
	Judge0       Judge0
	Tango        Tango
	Jobe         Jobe
	Callbacks    webhook.Addresses // where the compatible APIs may send callbacks
}

// Judge0 are the settings of the compatible API for Judge0's programs.
type Judge0 struct {
	Pool      string            // in whose VMs submissions run
	Languages []judge0.Language // nil: the built-in ones
}

// Tango are the settings of the compatible API for Tango's programs.
type Tango struct {
	Images map[string]string // image → pool
}

// Jobe are the settings of the compatible API for CodeRunner and Jobe's other programs.
type Jobe struct {
	Pool      string          // in whose VMs runs are
	Languages []jobe.Language // nil: the built-in ones
}

// Deps are what the site works with.
type Deps struct {
	services.Deps

	Redis  *redisstore.Store // sessions, files that wait for their job, rates
	Checks map[string]service.Check
}

// New makes the site. Returns INVALID for an invalid setting.
func New(cfg Config, p Deps) (http.Handler, error) {
	p.URL = cfg.URL
	keeper := &session.Keeper{
		Sessions: session.New(p.Redis, cfg.URL.Scheme == "https", cfg.Log), Accounts: p.Accounts, Actors: p.Classes, Log: cfg.Log,
	}
	p.Live = &live.Streams{Requests: p.Requests, Classes: p.Classes, Keeper: keeper, Log: cfg.Log}
	pages, err := page.New(page.Config{
		Name: p.Name, Announcement: cfg.Announcement, Sessions: keeper.Sessions, Log: cfg.Log, Now: p.Now, Titles: p.Classes,
	}, Sections(p.Deps, keeper, cfg.Provider)...)
	if err != nil {
		return nil, err
	}
	formerly, err := judge0.New(p.Deps, judge0.Settings{
		Keys: keeper, Pool: cfg.Judge0.Pool, Languages: cfg.Judge0.Languages, Callbacks: cfg.Callbacks, Version: cfg.Version,
	})
	if err != nil {
		return nil, err
	}
	runs, err := jobe.New(p.Deps, jobe.Settings{Keys: keeper, Cache: p.Redis, Pool: cfg.Jobe.Pool, Languages: cfg.Jobe.Languages})
	if err != nil {
		return nil, err
	}
	return web.Handler(web.Config{URL: cfg.URL, Proxies: cfg.Proxies, Log: cfg.Log}, web.Handlers{
		API:    keeper.Programs(api.New(p.Deps)),
		Judge0: formerly,
		Tango:  tango.New(p.Deps, tango.Settings{Keys: keeper, Cache: p.Redis, Images: cfg.Tango.Images, Callbacks: cfg.Callbacks, Version: cfg.Version}),
		Jobe:   runs,
		Events: keeper.Browsers(p.Live.Pages()),
		Pages:  keeper.Browsers(pages),
		Checks: p.Checks, CrossSite: append(slices.Clone(lti.CrossSite), jobe.CrossSite),
	})
}

// Sections returns the sections of all pages.
func Sections(p services.Deps, k *session.Keeper, provider *sign.Provider) []page.Section {
	all := []page.Section{sign.Section(p, k, provider), student.Section(p), staff.Section(p), operator.Section(p), api.Section(), looks.Section(p.Now)}
	if p.LTI != nil {
		all = append(all, lti.Section(p, k))
	}
	return all
}

// Callbacks returns the makers of callbacks, by compatible API.
func Callbacks(blobs core.Blobs) map[string]core.Callback {
	return map[string]core.Callback{judge0.Name: judge0.Callback(blobs), tango.Name: tango.Callback(blobs)}
}
