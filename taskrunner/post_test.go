package taskrunner

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"drover/core"
	"drover/core/webhook"
)

var soon = postTimes{connect: 10 * time.Second, answer: 10 * time.Second, whole: 20 * time.Second}

func local(t *testing.T) webhook.Addresses {
	t.Helper()
	a, err := webhook.ParseAddresses([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	return a
}

// receiver is somebody's server; it counts what reaches it.
func receiver(t *testing.T, answer http.HandlerFunc) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func hook(url string) core.Webhook {
	return core.Webhook{ID: "w1", URL: url, Secret: webhook.NewSecret(), Events: []string{core.EventRequestEnded}}
}

func send(t *testing.T, p *poster, w core.Webhook) (answer, error) {
	t.Helper()
	return p.post(t.Context(), w.Message([]byte(`{"a":1}`)), "delivery1", time.Now())
}

func TestADeliveryIsSigned(t *testing.T) {
	t.Parallel()
	w := hook("")
	var got http.Header
	url, _ := receiver(t, func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		verifier, bad := standard.NewWebhook(w.Secret)
		if err != nil || bad != nil || verifier.Verify(body, r.Header) != nil || r.Method != http.MethodPost {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		got = r.Header
		rw.WriteHeader(http.StatusNoContent)
	})
	w.URL = url + "/path?token=1"
	a, err := send(t, newPoster(local(t), "1.2", soon, nil, nil), w)
	require.NoError(t, err)
	require.True(t, a.delivered())
	require.Equal(t, "204 No Content", a.text)
	require.Equal(t, "delivery1", got.Get("webhook-id"))
	require.Equal(t, "drover/1.2", got.Get("User-Agent"))
	require.Equal(t, "application/json", got.Get("Content-Type"))
	require.Empty(t, got.Get("Cookie"))
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	other, calls := receiver(t, func(http.ResponseWriter, *http.Request) {})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
		a, err := send(t, newPoster(local(t), "1", soon, nil, nil), hook(url))
		require.NoError(t, err)
		require.Equal(t, status, a.status)
		require.False(t, a.delivered())
	}
	require.Zero(t, calls.Load())
}

func TestWhatARefusalSaysIsBounded(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusServiceUnavailable)
		for { // until nobody listens
			if _, err := io.WriteString(w, "no\x1b[2J room\n"); err != nil {
				return
			}
		}
	})
	a, err := send(t, newPoster(local(t), "1", soon, nil, nil), hook(url))
	require.NoError(t, err)
	require.Equal(t, 90*time.Second, a.wait)
	require.True(t, strings.HasPrefix(a.text, "503 Service Unavailable: no [2J room no [2J"), a.text)
	require.Less(t, len(a.text), maxQuote+100)

	url, _ = receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(599)
	})
	a, err = send(t, newPoster(local(t), "1", soon, nil, nil), hook(url))
	require.NoError(t, err)
	require.Zero(t, a.wait, "only a receiver that is busy says when")
	require.Equal(t, "599", a.text)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": 0, "7": 7 * time.Second, "99999999999": webhook.MaxRetryAfter, "86401": webhook.MaxRetryAfter,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:04:00 GMT": 0, "Fri, 02 Jan 2126 03:05:05 GMT": webhook.MaxRetryAfter,
	} {
		require.Equal(t, want, retryAfter(text, now), "%q", text)
	}
}

// hung accepts connections and lets a function deal with each.
func hung(t *testing.T, deal func(net.Conn)) (url string) {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				deal(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestReceiversThatNeverComeToAnEnd(t *testing.T) {
	t.Parallel()
	for name, deal := range map[string]func(net.Conn){
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"a byte of a header now and then": func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "H"); err != nil {
					return
				}
				<-time.After(time.Millisecond)
			}
		},
		"endless headers": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "A: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
					return
				}
			}
		},
		"endless first answers": func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nA: "+strings.Repeat("x", 1000)+"\r\n\r\n"); err != nil {
					return
				}
			}
		},
		"no HTTP": func(c net.Conn) { _, _ = io.WriteString(c, "+PONG\r\n") },
		"nothing": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times := postTimes{connect: 10 * time.Second, answer: 50 * time.Millisecond, whole: 100 * time.Millisecond}
			endless := strings.HasPrefix(name, "endless")
			if endless {
				times = soon
			}
			url := hung(t, deal)
			_, err := send(t, newPoster(local(t), "1", times, nil, nil), hook(url))
			require.True(t, core.Is(err, core.CodeUnavailable), "%v", err)
			require.NotContains(t, err.Error(), url)
			if endless {
				require.NotContains(t, err.Error(), "time", "what is too much is enough, however fast it comes")
			}
		})
	}
}

func TestARefusalThatNeverEndsIsLeft(t *testing.T) {
	t.Parallel()
	url := hung(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // an answer before the question is none
		_, _ = io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\nbecause")
		_, _ = io.Copy(io.Discard, c)
	})
	times := postTimes{connect: 10 * time.Second, answer: 10 * time.Second, whole: 200 * time.Millisecond}
	a, err := send(t, newPoster(local(t), "1", times, nil, nil), hook(url))
	if err == nil { // the headers were not even there in time, on a slow machine
		require.Equal(t, "500 Internal Server Error: because", a.text)
	}
}

// The status is what counts: a 200 whose body never ends has been received.
func TestABodyThatNeverEndsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	url := hung(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // an answer before the question is none
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx")
		_, _ = io.Copy(io.Discard, c)
	})
	a, err := send(t, newPoster(local(t), "1", soon, nil, nil), hook(url))
	require.NoError(t, err)
	require.True(t, a.delivered())
}

func TestOnlyVerifiedTLS(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = nil
	_, err := send(t, newPoster(local(t), "1", soon, nil, nil), hook(s.URL))
	require.True(t, core.Is(err, core.CodeUnavailable))
	require.ErrorContains(t, err, "certificate")
	require.Zero(t, calls.Load())

	certificates := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	a, err := send(t, newPoster(local(t), "1", soon, nil, certificates), hook(s.URL))
	require.NoError(t, err)
	require.True(t, a.delivered())

	certificates.MinVersion, certificates.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, err = send(t, newPoster(local(t), "1", soon, nil, certificates), hook(s.URL))
	require.Error(t, err)
}

func TestNothingGoesWhereItMayNot(t *testing.T) {
	t.Parallel()
	url, calls := receiver(t, func(http.ResponseWriter, *http.Request) {})
	_, err := send(t, newPoster(webhook.Addresses{}, "1", soon, nil, nil), hook(url))
	require.True(t, core.Is(err, core.CodeUnavailable), "it is tried again: a name may stand for another address then")
	require.ErrorContains(t, err, "webhook_allow")
	require.NotContains(t, err.Error(), "127.0.0.1")
	require.Zero(t, calls.Load())
	for _, bad := range []string{"", "ftp://127.0.0.1/", "unix:///run/redis.sock", "%"} {
		_, err = send(t, newPoster(local(t), "1", soon, nil, nil), hook(bad))
		require.True(t, core.Is(err, core.CodeInvalid), "%q: %v", bad, err)
	}
}

// Who made a webhook learns nothing of the network that drover is in.
func TestFailuresTellNoAddresses(t *testing.T) {
	t.Parallel()
	nobody, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	port := nobody.Addr().(*net.TCPAddr).Port
	require.NoError(t, nobody.Close())
	url := fmt.Sprintf("http://grades.example.org:%d/", port)
	_, err = send(t, newPoster(local(t), "1", soon, nameServer(t, "127.0.0.1"), nil), hook(url))
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "127.0.0.1")

	silent := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: &net.UDPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 53}, Err: syscall.ECONNREFUSED}
	}}
	_, err = send(t, newPoster(local(t), "1", soon, silent, nil), hook(url))
	require.ErrorContains(t, err, "looked up")
	require.NotContains(t, err.Error(), "10.9.8.7")
}

// A certificate may hold anything where its names stand.
func TestCertificatesAreQuotedAsText(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"\x1b[2Jgrades", strings.Repeat("x", 2000)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	_, err = send(t, newPoster(local(t), "1", soon, nameServer(t, "127.0.0.1"), nil), hook("https://grades.example.org:"+port))
	require.ErrorContains(t, err, "certificate")
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), maxQuote+100)
}

func TestNoProxyIsUsed(t *testing.T) {
	t.Parallel()
	for _, c := range newPoster(webhook.Addresses{}, "1", soon, nil, nil).clients {
		require.Nil(t, c.Transport.(*http.Transport).Proxy)
		require.Nil(t, c.Jar)
	}
}

// nameServer answers each question for an address with the next
// of its addresses, and the last one forever.
func nameServer(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	answer := func(q []byte) []byte {
		var m dnsmessage.Message
		if err := m.Unpack(q); err != nil || len(m.Questions) == 0 {
			return nil
		}
		m.Response = true
		if m.Questions[0].Type == dnsmessage.TypeA {
			n := min(int(asked.Add(1)), len(addresses)) - 1
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(addresses[n]).As4()},
			}}
		}
		m.Additionals = nil
		packed, err := m.Pack()
		if err != nil {
			return nil
		}
		return packed
	}
	var config net.ListenConfig
	server, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	go func() {
		buf := make([]byte, 2000)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := answer(buf[:n]); out != nil {
				_, _ = server.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name that stood for a public address when somebody looked stands for this machine
// when the delivery connects.
func TestANameThatChanges(t *testing.T) {
	t.Parallel()
	url, calls := receiver(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	url = "http://grades.example.org:" + port + "/"

	to, err := webhook.ParseAddresses([]string{"9.9.9.0/24"}) // http, so that all but the address is right
	require.NoError(t, err)
	resolver := nameServer(t, "9.9.9.9", "127.0.0.1")
	first, err := resolver.LookupNetIP(t.Context(), "ip4", "grades.example.org")
	require.NoError(t, err)
	require.NoError(t, to.Check("http", first[0]), "who looked was content")
	_, err = send(t, newPoster(to, "1", soon, resolver, nil), hook(url))
	require.ErrorContains(t, err, "webhook_allow")
	require.Zero(t, calls.Load())

	a, err := send(t, newPoster(local(t), "1", soon, resolver, nil), hook(url))
	require.NoError(t, err)
	require.True(t, a.delivered(), "the same name where that address is allowed")
}
