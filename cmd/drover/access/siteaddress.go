package access

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"time"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
	"drover/core/service"
	"drover/core/service/clock"
)

// SiteAddress is where the site listens by default.
const SiteAddress = "127.0.0.1:8080"

// Sites publish their addresses in Redis, by host, so that commands can print links to them.
const (
	siteCache   = "addresses of sites"
	mostSites   = 1000
	keepAddress = 10 * time.Minute // after a site's last update
)

// ListenAddress returns where the site is to listen.
func ListenAddress(cfg *config.Config) string { return cmp.Or(cfg.Listen, SiteAddress) }

// SiteURL returns the setting, or else the address that the site listens on.
func SiteURL(cfg *config.Config, address string) (*url.URL, error) {
	if cfg.SiteURL != "" {
		u, err := url.Parse(cfg.SiteURL)
		return u, core.Wrap(err, core.CodeInvalid, cfg.SiteURL, "the setting site_url is no URL: write it such as https://drover.example.org")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, address, "the site listens on %q, which is no address", address)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if cfg.TLSCert != "" {
		u.Scheme = "https"
	}
	return u, nil
}

// TellAddress publishes the address of this host's site periodically: Redis may lose it.
func (h *Cluster) TellAddress(at *url.URL) service.Service {
	return service.Service{Name: "address", Run: func(ctx context.Context) error {
		return service.Every(ctx, clock.Real{}, h.Config.Poll, func(ctx context.Context) error {
			_ = h.Redis.Put(ctx, siteCache, h.Config.Host, at.String(), mostSites, keepAddress) // Redis is away, which /healthz reports
			return nil
		})
	}}
}

// SiteOfCluster returns the address of the cluster's site: the setting site_url, or an address that a site has
// published. Without either it is the default address, and a note says so.
func (h *Cluster) SiteOfCluster(ctx context.Context, notes io.Writer) (*url.URL, error) {
	if h.Config.SiteURL != "" {
		return SiteURL(h.Config, "")
	}
	told, err := h.Redis.Fields(ctx, siteCache)
	if err != nil {
		return nil, err
	}
	if at := BestSite(told, h.Config.Host); at != nil {
		return at, nil
	}
	at, err := SiteURL(h.Config, ListenAddress(h.Config))
	if err == nil {
		fmt.Fprintf(notes, "drover: no site of this cluster has answered lately: the link is good once one is at %s; name another with the setting site_url\n", at)
	}
	return at, err
}

// BestSite chooses among addresses by host: the host's own, else one that others can reach, else the first; nil for
// none.
func BestSite(told map[string]string, host string) *url.URL {
	sites := map[string]*url.URL{}
	for on, text := range told {
		if at, err := url.Parse(text); err == nil && at.Host != "" {
			sites[on] = at
		}
	}
	names := slices.SortedFunc(maps.Keys(sites), func(a, b string) int {
		return cmp.Or(cmp.Compare(terminal.OneIf(a != host), terminal.OneIf(b != host)), cmp.Compare(terminal.OneIf(onlyThere(sites[a])), terminal.OneIf(onlyThere(sites[b]))), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return nil
	}
	return sites[names[0]]
}

// onlyThere reports whether an address is reachable only on its own host.
func onlyThere(at *url.URL) bool {
	ip := net.ParseIP(at.Hostname())
	return at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
