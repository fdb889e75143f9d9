package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/account"
	"drover/core/config"
	"drover/core/requests"
	"drover/core/service"
	"drover/web"
	"drover/web/compat/judge0"
	"drover/web/frontend"
	"drover/web/services"
	"drover/web/sign"
)

func webCommand() *cli.Command {
	return &cli.Command{
		Name: "web", Usage: "answer browsers and programs: the site of a cluster", OnUsageError: usageError,
		Description: "Any number may run at once, behind a proxy that gives each request to any of them. It listens on\n" +
			siteAddress + ", unless --listen says otherwise. Where no admin can sign in yet it prints a link for the first.",
		Flags:  withSettings(nil, "web"),
		Action: joined(serveSite),
	}
}

// serveSite is the site until a signal.
func serveSite(c *cli.Context, h *cluster, signals *service.Signals) error {
	log, err := newLog(h.cfg, c.App.ErrWriter)
	if err != nil {
		return err
	}
	f, err := newWebsite(h, log)
	if err != nil {
		return err
	}
	if err := f.announce(c.Context, c.App.Writer); err != nil {
		return errors.Join(err, f.server.Close())
	}
	services := append(f.services(), h.ledger(), h.neighbours(log))
	return signals.Run(c.Context, 0, func(text string) { log.Info(text) }, services...)
}

// website is the site of a cluster. It listens already.
type website struct {
	server   *web.Server
	handler  http.Handler
	url      *url.URL // by which browsers reach it
	accounts *account.Service
	watch    *requests.Watch
	address  service.Service // tells the cluster url
}

// newWebsite listens where the settings say.
func newWebsite(h *cluster, log logrus.FieldLogger) (*website, error) {
	certificate, err := certificateOf(h.cfg)
	if err != nil {
		return nil, err
	}
	accounts, err := h.accounts()
	if err != nil {
		return nil, err
	}
	f := &website{
		accounts: accounts,
		watch:    &requests.Watch{Feed: h.redis, Last: h.redis.LastEvents},
	}
	if f.server, err = web.Listen(listenAddress(h.cfg), certificate); err != nil {
		return nil, err
	}
	if f.url, err = siteURL(h.cfg, f.server.Addr()); err == nil {
		f.handler, err = f.open(h, log)
	}
	if err != nil {
		return nil, errors.Join(err, f.server.Close())
	}
	f.address = h.tellAddress(f.url)
	f.warn(log)
	return f, nil
}

func (f *website) services() []service.Service {
	return []service.Service{f.server.Service(f.handler), {Name: "watch", Run: f.watch.Run}, f.address}
}

// certificateOf returns the site's certificate; nil if it speaks http.
func certificateOf(cfg *config.Config) (*tls.Certificate, error) {
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

// warn says what an operator should know of how the site is reached.
func (f *website) warn(log logrus.FieldLogger) {
	host, _, err := net.SplitHostPort(f.server.Addr())
	if err != nil || f.url.Scheme == "https" {
		return
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		log.WithField("address", f.server.Addr()).Warn(
			"the site answers other machines without encryption, passwords and all: set tls_cert and tls_key, or put a proxy in front and set site_url to its https address")
	}
}

// oidcProvider returns by whom users sign in too; nil for nobody.
func oidcProvider(cfg *config.Config) (*sign.Provider, error) {
	if cfg.OIDCIssuer == "" {
		return nil, nil
	}
	p := &sign.Provider{Name: cfg.OIDCName, Issuer: cfg.OIDCIssuer, Client: cfg.OIDCClient}
	if cfg.OIDCSecretFile == "" {
		return p, nil
	}
	var err error
	p.Secret, err = readSecretFile(cfg.OIDCSecretFile)
	return p, err
}

// poolNews is how long all who wait are told the same of a pool.
const poolNews = 2 * time.Second

// open makes what answers.
func (f *website) open(h *cluster, log logrus.FieldLogger) (http.Handler, error) {
	networks, err := h.cfg.ProxyNetworks()
	if err != nil {
		return nil, err
	}
	images, err := h.cfg.TangoPools()
	if err != nil {
		return nil, err
	}
	languages, err := languagesOf(h.cfg)
	if err != nil {
		return nil, err
	}
	provider, err := oidcProvider(h.cfg)
	if err != nil {
		return nil, err
	}
	backend := h.requests()
	backend.Watch, backend.Keep = f.watch, poolNews
	return frontend.New(frontend.Config{
		URL: f.url, Proxies: networks, Announcement: h.cfg.Announcement, Provider: provider, Version: version, Log: log,
		Judge0: frontend.Judge0{Pool: h.cfg.Judge0Pool, Languages: languages}, Tango: frontend.Tango{Images: images}, Callbacks: h.webhooks,
	}, frontend.Deps{
		Deps: services.Deps{
			Name: h.cfg.SiteName, Classes: h.classes(), Requests: backend, Cluster: h.operate(), Accounts: f.accounts, Limits: h.redis, Beat: h.cfg.Beat, Log: log,
		},
		Redis: h.redis, Checks: h.checks(),
	})
}

// languagesOf reads the table of languages that a setting names; nil without one.
func languagesOf(cfg *config.Config) ([]judge0.Language, error) {
	if cfg.Judge0Languages == "" {
		return nil, nil
	}
	text, err := os.ReadFile(cfg.Judge0Languages)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, cfg.Judge0Languages, "the table of languages %s (setting judge0_languages) cannot be read", cfg.Judge0Languages)
	}
	return judge0.ParseLanguages(text)
}

// announce says where the site is, and how its first admin gets in.
func (f *website) announce(ctx context.Context, w io.Writer) error {
	text := "the site is at " + f.url.String() + "\n"
	admin, secret, err := f.accounts.Bootstrap(ctx)
	if core.Is(err, core.CodeLimit) { // it has started often within an hour
		text += "no admin can sign in yet: use a link that an earlier start printed\n"
		err = nil
	}
	if err != nil {
		return err
	}
	if secret != "" {
		text += fmt.Sprintf("no admin can sign in yet: sign in once as %s, within %s, by\n%s\n", admin, strings.TrimSuffix(account.LinkLife.String(), "0m0s"), account.Link{Secret: secret}.At(f.url).URL)
	}
	_, err = io.WriteString(w, text)
	return err
}
