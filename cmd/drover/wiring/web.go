package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/account"
	"drover/core/classes/lti"
	"drover/core/config"
	"drover/core/requests"
	"drover/core/service"
	"drover/core/service/clock"
	"drover/web"
	"drover/web/compat/jobe"
	"drover/web/compat/judge0"
	"drover/web/frontend"
	"drover/web/services"
	"drover/web/sign"
)

// WebCommand is drover web.
func WebCommand() *cli.Command {
	return &cli.Command{
		Name: "web", Usage: "answer browsers and programs: the site of a cluster", OnUsageError: terminal.UsageError,
		Description: "Any number may run at once, behind a proxy that gives each request to any of them. It listens on\n" +
			access.SiteAddress + ", unless --listen says otherwise. Where no admin can sign in yet it writes\n" +
			"a link for the first into the file " + AdminLinkFile + " of the data folder.",
		Flags:  terminal.WithSettings(nil, "web"),
		Action: joined(serveSite),
	}
}

// serveSite is the site until a signal.
func serveSite(c *cli.Context, h *access.Cluster, signals *service.Signals) error {
	log, err := terminal.NewLog(h.Config, c.App.ErrWriter)
	if err != nil {
		return err
	}
	f, err := NewWebsite(h, log)
	if err != nil {
		return err
	}
	if err := f.announce(c, h.Config, log); err != nil {
		return errors.Join(err, f.Server.Close())
	}
	services := append(f.Services(), h.Ledger(), neighbours(h, log))
	return signals.Run(c.Context, 0, func(text string) { log.Info(text) }, services...)
}

// Website is the site of a cluster. It listens already.
type Website struct {
	Server   *web.Server
	handler  http.Handler
	URL      *url.URL // by which browsers reach it
	Accounts *account.Service
	watch    *requests.Watch
	address  service.Service // publishes the URL
	scores   service.Service // sends scores to learning platforms
}

// NewWebsite listens where the settings say.
func NewWebsite(h *access.Cluster, log logrus.FieldLogger) (*Website, error) {
	certificate, err := CertificateOf(h.Config)
	if err != nil {
		return nil, err
	}
	accounts, err := h.Accounts()
	if err != nil {
		return nil, err
	}
	accounts.Refused = func(handle, address, why string) {
		log.WithFields(logrus.Fields{"user": handle, "address": address}).Warn("a sign-in was refused: " + why)
	}
	f := &Website{
		Accounts: accounts,
		watch:    &requests.Watch{Feed: h.Redis, Last: h.Redis.LastEvents},
	}
	if f.Server, err = web.Listen(access.ListenAddress(h.Config), certificate, log); err != nil {
		return nil, err
	}
	if f.URL, err = access.SiteURL(h.Config, f.Server.Addr()); err == nil {
		f.handler, err = f.open(h, log)
	}
	if err != nil {
		return nil, errors.Join(err, f.Server.Close())
	}
	f.address = h.TellAddress(f.URL)
	f.warn(h, certificate, log)
	return f, nil
}

// Services are the site's loops.
func (f *Website) Services() []service.Service {
	return []service.Service{f.Server.Service(f.handler), {Name: "watch", Run: f.watch.Run}, f.address, f.scores}
}

// CertificateOf returns the site's certificate; nil if it speaks http.
func CertificateOf(cfg *config.Config) (*tls.Certificate, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, cfg.TLSCert,
			"the site's certificate %s and its key %s (settings tls_cert and tls_key) cannot be used: both must be PEM files that belong together", cfg.TLSCert, cfg.TLSKey)
	}
	return &pair, nil
}

// renewWithin is how long before its end a certificate should have been renewed.
const renewWithin = 14 * 24 * time.Hour

// CheckCertificate says what is wrong with the site's certificate at a time, and whether browsers refuse it for that;
// "" for nothing. The site's address may be empty.
func CheckCertificate(pair *tls.Certificate, site string, now time.Time) (problem string, refused bool) {
	is := pair.Leaf
	switch u, err := url.Parse(site); {
	case now.After(is.NotAfter):
		return "has expired: it was good until " + is.NotAfter.UTC().Format(time.DateTime) + " UTC", true
	case now.Before(is.NotBefore):
		return "is not good yet: it begins at " + is.NotBefore.UTC().Format(time.DateTime) + " UTC", true
	case err == nil && u.Hostname() != "" && is.VerifyHostname(u.Hostname()) != nil:
		return "is not for " + u.Hostname() + ", the name in the setting site_url", true
	case now.Add(renewWithin).After(is.NotAfter):
		return "expires soon: at " + is.NotAfter.UTC().Format(time.DateTime) + " UTC", false
	}
	return "", false
}

// warn logs what an operator should know about the site's certificate and address.
func (f *Website) warn(h *access.Cluster, certificate *tls.Certificate, log logrus.FieldLogger) {
	if certificate != nil {
		if problem, refused := CheckCertificate(certificate, h.Config.SiteURL, time.Now()); refused {
			log.Error("the site's certificate " + problem + ": browsers refuse it")
		} else if problem != "" {
			log.Warn("the site's certificate " + problem)
		}
	}
	host, _, err := net.SplitHostPort(f.Server.Addr())
	if err != nil || f.URL.Scheme == "https" {
		return
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		log.WithField("address", f.Server.Addr()).Warn(
			"the site answers other machines without encryption, passwords and all: set tls_cert and tls_key, or put a proxy in front and set site_url to its https address")
	}
}

// OIDCProvider returns the configured identity provider; nil for none.
func OIDCProvider(cfg *config.Config) (*sign.Provider, error) {
	if cfg.OIDCIssuer == "" {
		return nil, nil
	}
	p := &sign.Provider{Name: cfg.OIDCName, Issuer: cfg.OIDCIssuer, Client: cfg.OIDCClient}
	if cfg.OIDCSecretFile == "" {
		return p, nil
	}
	var err error
	p.Secret, err = terminal.ReadSecretFile(cfg.OIDCSecretFile)
	return p, err
}

// scoresEvery is the time between two looks at scores that platforms do not have.
const scoresEvery = 10 * time.Second

// poolNews is for how long the state of a pool is shared by all who wait for it.
const poolNews = 2 * time.Second

// open makes the site's handler.
func (f *Website) open(h *access.Cluster, log logrus.FieldLogger) (http.Handler, error) {
	networks, err := h.Config.ProxyNetworks()
	if err != nil {
		return nil, err
	}
	images, err := h.Config.TangoPools()
	if err != nil {
		return nil, err
	}
	languages, err := languagesOf("judge0_languages", h.Config.Judge0Languages, judge0.ParseLanguages)
	if err != nil {
		return nil, err
	}
	jobeLanguages, err := languagesOf("jobe_languages", h.Config.JobeLanguages, jobe.ParseLanguages)
	if err != nil {
		return nil, err
	}
	provider, err := OIDCProvider(h.Config)
	if err != nil {
		return nil, err
	}
	platforms := h.LTI(f.Accounts, f.URL)
	f.scores = scoresOf(platforms, log)
	backend := h.Requests()
	backend.Watch, backend.Keep = f.watch, poolNews
	return frontend.New(frontend.Config{
		URL: f.URL, Proxies: networks, Announcement: h.Config.Announcement, Provider: provider, Version: access.Version, Log: log,
		Judge0: frontend.Judge0{Pool: h.Config.Judge0Pool, Languages: languages}, Tango: frontend.Tango{Images: images}, Callbacks: h.Webhooks,
		Jobe: frontend.Jobe{Pool: h.Config.JobePool, Languages: jobeLanguages},
	}, frontend.Deps{
		Deps: services.Deps{
			Name: h.Config.SiteName, Classes: h.Classes(), Requests: backend, Cluster: h.Operate(), Leases: h.Leases(), Accounts: f.Accounts, LTI: platforms, Join: joinService(h), Limits: h.Redis, Beat: h.Config.Beat, Log: log,
			Repositories: h.Repositories,
		},
		Redis: h.Redis, Checks: checksOf(h),
	})
}

// scoresOf is the loop that sends scores to learning platforms. What fails round after round is logged once.
func scoresOf(platforms *lti.Service, log logrus.FieldLogger) service.Service {
	last := ""
	return service.Service{Name: "scores", Run: func(ctx context.Context) error {
		return service.Every(ctx, clock.Real{}, scoresEvery, func(ctx context.Context) error {
			_, err := platforms.Round(ctx)
			if err == nil || ctx.Err() != nil {
				last = ""
				return nil //nolint:nilerr // it stops
			}
			if err.Error() != last {
				log.WithError(err).Warn("the round of scores for learning platforms failed; it is tried again")
			}
			last = err.Error()
			return nil
		})
	}}
}

// languagesOf reads the table of languages of a compatible API from the file that a setting names; nil without one.
func languagesOf[L any](setting, file string, parse func([]byte) ([]L, error)) ([]L, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, file, "the table of languages %s (setting %s) cannot be read", file, setting)
	}
	return parse(text)
}
