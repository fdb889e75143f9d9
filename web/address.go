package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/realclientip/realclientip-go"

	"drover/core"
)

// believing trusts proxies of the given networks: requests through them get the address that they report as their
// origin. The same header from others is ignored.
func believing(proxies []netip.Prefix, next http.Handler) (http.Handler, error) {
	if len(proxies) == 0 {
		return next, nil
	}
	trusted := make([]net.IPNet, len(proxies))
	for i, p := range proxies {
		trusted[i] = net.IPNet{IP: p.Masked().Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
	}
	strategy, err := realclientip.NewRightmostTrustedRangeStrategy("X-Forwarded-For", trusted)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "proxies", "the networks of proxies cannot be used")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && within(proxies, peer.Addr()) {
			if address := strategy.ClientIP(r.Header, ""); address != "" {
				r.RemoteAddr = net.JoinHostPort(address, "0")
			}
		}
		next.ServeHTTP(w, r)
	}), nil
}

func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}
