package taskrunner

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/webhook"
)

// Bounds of a receiver's answer.
const (
	maxAnswer = 4 << 10 // bytes of a refusal's body
	maxQuote  = 200     // bytes of the body that a note quotes
)

// postTimes bound one try of a delivery.
type postTimes struct {
	connect time.Duration // and as long again for TLS
	answer  time.Duration // from the last byte of the body to the first of the answer
	whole   time.Duration
}

func defaultPostTimes() postTimes {
	return postTimes{connect: 5 * time.Second, answer: 12 * time.Second, whole: core.CallbackTimeout}
}

// poster sends deliveries, only to allowed addresses. It follows no redirects, uses no proxy, and keeps neither
// cookies nor connections.
type poster struct {
	clients map[string]*http.Client // by scheme
	agent   string
	whole   time.Duration
}

// newPoster makes a poster whose user agent has the version. Resolver and certificates are nil except in tests.
func newPoster(to webhook.Addresses, version string, times postTimes, resolver *net.Resolver, certificates *tls.Config) *poster {
	p := &poster{clients: map[string]*http.Client{}, agent: "drover/" + version, whole: times.whole}
	for _, scheme := range []string{"https", "http"} {
		p.clients[scheme] = to.Client(scheme, webhook.Times{Connect: times.connect, Answer: times.answer}, resolver, certificates)
	}
	return p
}

// answer is a receiver's answer.
type answer struct {
	status int
	wait   time.Duration // the pause that it asked for; 0 if it did not
	text   string        // the status, and the beginning of a refusal's body, for people
}

// post sends one try of a delivery. An answer of any status is no error. Returns UNAVAILABLE if there was none,
// INVALID for an invalid URL.
func (p *poster) post(ctx context.Context, m core.Message, delivery string, now time.Time) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.whole)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, bytes.NewReader(m.Body))
	if err != nil || p.clients[req.URL.Scheme] == nil {
		return answer{}, core.Errorf(core.CodeInvalid, delivery, "the URL that is to be told is none")
	}
	for name, value := range m.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", p.agent)
	if err := webhook.Sign(req.Header, m.Secret, delivery, now, m.Body); err != nil {
		return answer{}, err
	}
	resp, err := p.clients[req.URL.Scheme].Do(req)
	if err != nil {
		return answer{}, noAnswer(ctx, delivery, p.whole, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	a := answer{status: resp.StatusCode, text: strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))}
	if a.delivered() {
		return a, nil
	}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		a.wait = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status counts, even if the rest is incomplete
	if quote := core.OneLine(string(said), maxQuote); quote != "" {
		a.text += ": " + quote
	}
	return a, nil
}

func (a answer) delivered() bool { return a.status >= 200 && a.status <= 299 }

// noAnswer returns why there was no answer, without the URL, which may hold a secret, and without the addresses that
// its host has in drover's network.
func noAnswer(ctx context.Context, id string, whole time.Duration, err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	var refused *core.Error
	var unknown *net.DNSError
	var network *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not within %s", whole)
	case errors.As(err, &refused): // by Control
		err = errors.New(refused.Text)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		err = errors.New("there is no host of that name")
	case errors.As(err, &unknown):
		err = errors.New("the name of its host cannot be looked up now")
	case errors.As(err, &network):
		err = fmt.Errorf("%s: %w", network.Op, network.Err)
	}
	// What is wrong with an answer or a certificate is quoted.
	return core.Errorf(core.CodeUnavailable, id, "no answer: %s", core.OneLine(err.Error(), maxQuote))
}

// retryAfter reads the header of this name: seconds or a date. 0 is unreadable.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, min(time.Duration(min(seconds, 1<<30))*time.Second, webhook.MaxRetryAfter))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), webhook.MaxRetryAfter))
	}
	return 0
}
