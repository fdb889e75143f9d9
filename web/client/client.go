package client

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"drover/core"
)

// Bounds of a call.
const (
	defaultTimeout  = 30 * time.Second
	defaultPause    = 250 * time.Millisecond
	dialTimeout     = 10 * time.Second
	answerTimeout   = 60 * time.Second // from the end of what was sent to the head of the answer
	callTimeout     = 90 * time.Second // of a try whose answer is JSON
	continueTimeout = time.Second      // for a site that wants to see the head of an upload first
	maxHeaderBytes  = 64 << 10
	maxRedirects    = 3
)

// Options say which site to call, and how.
type Options struct {
	Server   string // URL of the site, such as https://drover.example.org
	Token    string // dro_…; "" before signing in
	Agent    string // User-Agent; "" is drover
	Insecure bool   // use http to other machines too: the token can be intercepted

	// Timeout is for how long unanswered calls are repeated; 0 is half a minute, below 0 is never. It applies to each
	// call, and to each part of a stream.
	Timeout time.Duration
	Pause   time.Duration // before the first repetition; later ones grow; 0 is a quarter of a second
	// Again, if not nil, is called with the error before a call is repeated.
	Again func(err error, wait time.Duration)

	Transport http.RoundTripper // nil: one of its own
}

// Client calls one site on behalf of one user. It is safe for concurrent use.
type Client struct {
	Options
	at   *url.URL // of the API
	http *http.Client
}

// New makes a client. It does not call the site. Returns INVALID for an invalid URL, and for http to another machine.
func New(o Options) (*Client, error) {
	site, err := Site(o.Server, o.Insecure)
	if err != nil {
		return nil, err
	}
	o.Agent, o.Timeout = cmp.Or(o.Agent, "drover"), cmp.Or(o.Timeout, defaultTimeout)
	o.Pause = cmp.Or(o.Pause, defaultPause)
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout, ExpectContinueTimeout: continueTimeout,
			IdleConnTimeout: answerTimeout, MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: maxHeaderBytes, ForceAttemptHTTP2: true,
		}
	}
	c := &Client{Options: o, at: site.JoinPath("api", "v1")}
	c.Server = site.String()
	c.http = &http.Client{Transport: o.Transport, CheckRedirect: c.redirect}
	return c, nil
}

// Site parses a site's URL into its canonical form. Returns INVALID.
func Site(server string, insecure bool) (*url.URL, error) {
	site, err := url.Parse(strings.TrimSpace(server))
	if err != nil || site.Host == "" || site.Hostname() == "" || site.Opaque != "" || site.RawQuery != "" || site.Fragment != "" {
		return nil, core.Errorf(core.CodeInvalid, "server", "%.200q is no address of a site: use one such as https://drover.example.org", server)
	}
	if site.User != nil {
		return nil, core.Errorf(core.CodeInvalid, "server", "the address of a site has no user and password: leave them away, and sign in with drover login")
	}
	switch {
	case site.Scheme != "https" && site.Scheme != "http":
		return nil, core.Errorf(core.CodeInvalid, "server", "a site is reached by https, not by %.40q", site.Scheme)
	case site.Scheme == "http" && !insecure && !onThisMachine(site.Hostname()):
		return nil, core.Errorf(core.CodeInvalid, "server",
			"http to %s would show the password and the token to anyone who listens on the network: use https, or --insecure-http in a network that you trust", site.Host)
	}
	port := site.Port()
	if port == "443" && site.Scheme == "https" || port == "80" && site.Scheme == "http" {
		port = ""
	}
	host := strings.ToLower(site.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return &url.URL{Scheme: site.Scheme, Host: host, Path: strings.TrimRight(site.Path, "/")}, nil
}

// onThisMachine reports whether a host is this machine.
func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// errElsewhere is a redirect that is not followed.
var errElsewhere = errors.New("it points to another site")

// redirect follows redirects within the site.
func (c *Client) redirect(to *http.Request, before []*http.Request) error {
	if to.URL.Scheme != c.at.Scheme || !strings.EqualFold(to.URL.Host, c.at.Host) {
		return core.Wrap(errElsewhere, core.CodeInvalid, "server", "%s redirects to %s://%s: if that is its address, use it", c.Server, to.URL.Scheme, to.URL.Host)
	}
	if len(before) > maxRedirects {
		return core.Errorf(core.CodeUnavailable, "server", "%s redirects without end", c.Server)
	}
	return nil
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
