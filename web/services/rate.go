package services

import (
	"net"
	"net/http"
	"time"

	"drover/core"
)

// The rates of programs' calls: of a user, with all its tokens and operations, and of an address, for unknown
// callers.
var (
	PerUser    = core.Rate{Every: 50 * time.Millisecond, Burst: 200}
	PerAddress = core.Rate{Every: time.Second, Burst: 60}
)

// OfUser names a user in PerUser.
func OfUser(handle string) string { return "api-user:" + handle }

// OfAddress names an address in PerAddress.
func OfAddress(r *http.Request) string { return "api-address:" + Address(r) }

// Address returns where a request comes from. Networks assign whole prefixes of IPv6, so one of 64 bits counts as one
// address.
func Address(r *http.Request) string {
	host := Host(r)
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// Host returns the full address; "" if it is not known.
func Host(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}
