package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// maxAnswerHeader bounds the header of a receiver's answer, in bytes.
const maxAnswerHeader = 32 << 10

// Times bound one call of a Client.
type Times struct {
	Connect time.Duration // and as long again for TLS
	Answer  time.Duration // from the last byte of the body to the first of the answer
}

// Client makes a client that connects to allowed addresses only, by a scheme (http or https). It follows no redirects,
// uses no proxy, and keeps neither cookies nor connections. Resolver and certificates are nil except in tests.
func (a Addresses) Client(scheme string, times Times, resolver *net.Resolver, certificates *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: times.Connect, Control: a.Control(scheme), Resolver: resolver}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: certificates, TLSHandshakeTimeout: times.Connect,
			ResponseHeaderTimeout: times.Answer, MaxResponseHeaderBytes: maxAnswerHeader,
			DisableKeepAlives: true, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
