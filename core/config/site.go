package config

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"drover/core"
)

// Bounds on what every page shows.
const (
	maxSiteName     = 60  // characters
	maxAnnouncement = 300 // characters
)

func (c *Config) checkSite() error {
	var problems []error
	wrong := func(name, format string, args ...any) { problems = append(problems, c.problem(name, format, args...)) }
	for name, text := range map[string]string{"site_url": c.SiteURL, "oidc_issuer": c.OIDCIssuer} {
		if u, err := url.Parse(text); text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			wrong(name, "it is not the address of a site: write it such as https://drover.example.org")
		}
	}
	if u, err := url.Parse(c.SiteURL); err == nil && strings.Trim(u.Path, "/") != "" {
		wrong("site_url", "the site has no folder: give it a name of its own, such as https://drover.example.org")
	}
	if n := utf8.RuneCountInString(c.SiteName); n == 0 || n > maxSiteName {
		wrong("site_name", "it has %d characters: use 1 to %d", n, maxSiteName)
	}
	if n := utf8.RuneCountInString(c.Announcement); n > maxAnnouncement {
		wrong("announcement", "it has %d characters, more than %d", n, maxAnnouncement)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		wrong("tls_cert", "it needs tls_key, and that needs it")
	}
	if (c.OIDCIssuer == "") != (c.OIDCClient == "") {
		wrong("oidc_issuer", "it needs oidc_client, and that needs it")
	}
	for _, host := range c.GitHosts {
		if host != strings.ToLower(host) || strings.ContainsAny(host, "/:@ ") {
			wrong("git_hosts", "%q is not the name of a host such as github.com, or none", host)
		}
	}
	if _, err := c.ProxyNetworks(); err != nil {
		problems = append(problems, err)
	}
	if _, err := c.TangoPools(); err != nil {
		problems = append(problems, err)
	}
	if err := core.CheckName("pool", c.Judge0Pool); err != nil {
		wrong("judge0_pool", "%v", err)
	}
	if err := core.CheckName("pool", c.JobePool); err != nil {
		wrong("jobe_pool", "%v", err)
	}
	return errors.Join(problems...)
}

// TangoPools returns the setting tango_images: pools by image. Returns INVALID.
func (c *Config) TangoPools() (map[string]string, error) {
	pools := make(map[string]string, len(c.TangoImages))
	for _, text := range c.TangoImages {
		image, pool, ok := strings.Cut(text, "=")
		if !ok || image == "" || core.CheckName("pool", pool) != nil {
			return nil, c.problem("tango_images", "%q does not say which image is which pool: write it such as autograding_image=default", text)
		}
		pools[image] = pool
	}
	return pools, nil
}

// ProxyNetworks returns the networks of the setting proxies. Returns INVALID.
func (c *Config) ProxyNetworks() ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, 0, len(c.Proxies))
	for _, text := range c.Proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, c.problem("proxies", "%q is no network: write it such as 10.0.0.5/32", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
