package doctor

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"drover/cmd/drover/wiring"
	"drover/core/config"
	"drover/core/service"
)

// Bounds of the look at the site.
const (
	siteTimeout = 5 * time.Second
	siteBytes   = 64 << 10
)

// site checks the site that the settings describe: its certificate, and whether its address leads to it.
func (f *Findings) site(ctx context.Context, cfg *config.Config, now time.Time) {
	if cfg.TLSCert != "" {
		f.certificate(cfg, now)
	}
	if cfg.SiteURL != "" {
		f.address(ctx, cfg.SiteURL)
	}
}

func (f *Findings) certificate(cfg *config.Config, now time.Time) {
	const about = "site certificate"
	pair, err := wiring.CertificateOf(cfg)
	if err != nil {
		f.broken(about, err)
		return
	}
	problem, over := wiring.CheckCertificate(pair, cfg.SiteURL, now)
	switch {
	case over:
		f.fail(about, "renew it, and restart the site, which reads it at its start", "%s %s", cfg.TLSCert, problem)
	case problem != "":
		f.warn(about, "renew it, and restart the site, which reads it at its start", "%s %s", cfg.TLSCert, problem)
	default:
		f.ok(about, "good until %s", pair.Leaf.NotAfter.Format(time.DateOnly))
	}
}

// address checks that the setting site_url leads to a site of drover.
func (f *Findings) address(ctx context.Context, at string) {
	const about, mend = "site address", "start drover web, or mend the setting site_url, the name's address or the proxy; a private authority is named by SSL_CERT_FILE"
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/healthz", nil)
	if err != nil {
		f.warn(about, mend, "%v", err)
		return
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		f.warn(about, mend, "%s, which links begin with, leads to no site: %v", at, err)
		return
	}
	defer answer.Body.Close() //nolint:errcheck // only read from
	var is service.HealthReport
	if err := json.NewDecoder(io.LimitReader(answer.Body, siteBytes)).Decode(&is); err != nil || len(is.Checks) == 0 {
		f.warn(about, mend, "%s, which links begin with, is another program: %s", at, answer.Status)
		return
	}
	f.ok(about, "%s leads to a site", at)
}
