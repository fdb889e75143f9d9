package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"drover/core"
	"drover/core/service/pattern"
)

// MaxURL bounds a webhook's URL, in bytes.
const MaxURL = 2000

// hostName is a name as DNS has it; others are written in their xn-- form.
var hostName = pattern.New(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?$`)

// azure is the address of that cloud's metadata service, which gives a machine its secrets: the only one of its kind
// that looks public.
var azure = netip.MustParseAddr("168.63.129.16")

// public knows the special networks of IANA's registries.
var public = ssrf.New(ssrf.WithAnyPort())

// Addresses says where deliveries may go: by https to every public address, and by
// https or http to those of the networks that are allowed by name.
type Addresses struct {
	Allowed []netip.Prefix
}

// ParseAddresses reads the networks of the setting webhook_allow. Returns INVALID.
func ParseAddresses(allowed []string) (Addresses, error) {
	var a Addresses
	for _, text := range allowed {
		network, err := netip.ParsePrefix(text)
		if err != nil || network != network.Masked() || network.Addr().Is4In6() {
			return a, core.Errorf(core.CodeInvalid, text, "%q is no network: write one such as 192.0.2.0/24 or 2001:db8::/32", text)
		}
		a.Allowed = append(a.Allowed, network)
	}
	return a, nil
}

// CheckURL refuses a URL to which no delivery could go. Its host name is resolved only when a delivery connects.
// Returns INVALID.
func (a Addresses) CheckURL(text string) error {
	u, err := url.Parse(text)
	invalid := func(format string, args ...any) error {
		return core.Errorf(core.CodeInvalid, "", "the webhook's URL "+format, args...)
	}
	switch {
	case len(text) > MaxURL:
		return invalid("has %d bytes, at most %d are allowed", len(text), MaxURL)
	case err != nil || u.Opaque != "":
		return invalid("is not readable: write one such as https://grades.example.org/drover")
	case u.Scheme != "https" && u.Scheme != "http":
		return invalid("must begin with https://")
	case u.Scheme == "http" && len(a.Allowed) == 0:
		return invalid("must begin with https://: http is only for networks that the setting webhook_allow names")
	case u.User != nil:
		return invalid("must not hold a password: what comes from drover is known by its signature")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return invalid("must not have a part after #, which is never sent")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return core.Wrap(a.Check(u.Scheme, ip), core.CodeInvalid, "", "webhooks may not go to %s", ip)
	}
	if !hostName().MatchString(u.Hostname()) {
		return invalid("names the host %.80q, which is not a name of letters, digits, dots and hyphens", u.Hostname())
	}
	return nil
}

// Check returns FORBIDDEN for an address to which a delivery by the scheme must not go. Its sentence leaves out the
// address, because the maker of the webhook may not know what the name resolves to in drover's network.
func (a Addresses) Check(scheme string, ip netip.Addr) error {
	ip = ip.Unmap().WithZone("") // no network contains an address with a zone
	if slices.ContainsFunc(a.Allowed, func(n netip.Prefix) bool { return n.Contains(ip) }) {
		return nil
	}
	if scheme != "https" {
		return core.Errorf(core.CodeForbidden, ip.String(), "its address is in no network that the setting webhook_allow names, so webhooks may go there by https only")
	}
	if ip == azure || public.SafeAddr(ip) != nil {
		return core.Errorf(core.CodeForbidden, ip.String(), "its address is not public, and in no network that the setting webhook_allow names")
	}
	return nil
}

// Control returns a net.Dialer.Control that checks each address at the moment of connecting to it, whatever the name
// resolved to before.
func (a Addresses) Control(scheme string) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return core.Errorf(core.CodeForbidden, address, "webhooks go by TCP to an address, not by %s to %s", network, address)
		}
		return a.Check(scheme, at.Addr())
	}
}
