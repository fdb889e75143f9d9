package services

import (
	"net"
	"net/http"
	"time"

	"drover/core"
)

// The rates of programs' calls: of a user, however many tokens it has and whatever it
// calls, and of an address from which somebody unknown calls.
var (
	PerUser    = core.Rate{Every: 50 * time.Millisecond, Burst: 200}
	PerAddress = core.Rate{Every: time.Second, Burst: 60}
)

// OfUser names what PerUser bounds.
func OfUser(handle string) string { return "api-user:" + handle }

// OfAddress names what PerAddress bounds.
func OfAddress(r *http.Request) string { return "api-address:" + Address(r) }

// Address is where a request comes from. Networks give away whole prefixes of IPv6, so
// one of 64 bits counts as one.
func Address(r *http.Request) string {
	host := Host(r)
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// Host is the address as it is; "" for all where it is not known.
func Host(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}
