package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
)

// maxAnswer bounds an answer of JSON: the longest are results with all their output.
const maxAnswer = 256 << 20

// pauseMost is the longest pause between tries.
const pauseMost = 10 * time.Second

// call is one call of the API.
type call struct {
	method string
	path   []string // below the API, each part as it is, unescaped
	query  url.Values
	body   any           // sent as JSON; nil for none
	stream func() upload // sent instead of body, made again for each try
	key    string        // idempotency key
	again  bool          // a second call has no further effect, though it is a POST without a key
	accept string        // "" is JSON
	header http.Header
}

// upload is a body that is sent while it is made.
type upload struct {
	kind string // Content-Type
	from io.ReadCloser
	err  func() error // why it ended early; nil if it did not
}

// repeatable reports whether making the call twice has no further effect.
func (k *call) repeatable() bool { return k.method != http.MethodPost || k.key != "" || k.again }

// ask makes a call whose answer is a T.
func ask[T any](ctx context.Context, c *Client, k call) (out T, err error) {
	err = c.read(ctx, &k, &out)
	return out, err
}

// read makes a call and reads its answer, all of it before any of it is set.
func (c *Client) read(ctx context.Context, k *call, out any) error {
	return c.repeat(ctx, k, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, k.timeout())
		defer cancel()
		r, err := c.send(ctx, k)
		if err != nil {
			return err
		}
		defer r.Body.Close() //nolint:errcheck // only read from
		return c.decode(r, out)
	})
}

// timeout bounds one try. The site bounds the duration of an upload.
func (k *call) timeout() time.Duration {
	if k.stream != nil {
		return time.Hour
	}
	return callTimeout
}

// do makes a call and discards the answer.
func (c *Client) do(ctx context.Context, k call) error {
	_, err := ask[json.RawMessage](ctx, c, k)
	return err
}

func (c *Client) decode(r *http.Response, out any) error {
	if r.StatusCode == http.StatusNoContent {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return backoff.Permanent(c.stranger(r))
	}
	err := json.NewDecoder(io.LimitReader(r.Body, maxAnswer)).Decode(out)
	if err == nil {
		return nil
	}
	var shape *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	if errors.As(err, &shape) || errors.As(err, &syntax) {
		return backoff.Permanent(core.Wrap(err, core.CodeVersion, c.Server, "the answer of %s cannot be read: has it another version than this program?", c.Server))
	}
	return c.away(err)
}

// send makes one try. A successful answer is returned with its body open.
func (c *Client) send(ctx context.Context, k *call) (*http.Response, error) {
	r, sent, err := c.request(ctx, k)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	answer, err := c.http.Do(r)
	if sent.err != nil {
		if broken := sent.err(); broken != nil {
			if err == nil {
				_ = answer.Body.Close()
			}
			return nil, backoff.Permanent(broken)
		}
	}
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close() //nolint:errcheck // only read from
	err = c.refusal(answer)
	if again, wait := later(answer, err); !again {
		return nil, backoff.Permanent(err)
	} else if wait >= 0 {
		return nil, &asked{err, backoff.RetryAfterError{Duration: wait}}
	}
	return nil, err
}

// asked is a refusal by a site that asked for a pause.
type asked struct {
	error
	when backoff.RetryAfterError
}

// Unwrap returns the refusal, and for backoff the pause.
func (a *asked) Unwrap() []error { return []error{a.error, &a.when} }

func (c *Client) request(ctx context.Context, k *call) (*http.Request, upload, error) {
	var sent upload
	var body io.Reader
	if k.stream != nil {
		sent = k.stream()
		body = sent.from
	} else if k.body != nil {
		raw, err := json.Marshal(k.body)
		if err != nil {
			return nil, sent, core.Wrap(err, core.CodeInternal, "", "what is to be sent cannot be written as JSON")
		}
		sent.kind, body = "application/json", bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, k.method, c.url(k), body)
	if err != nil {
		return nil, sent, core.Wrap(err, core.CodeInternal, "", "the call cannot be made")
	}
	for name, values := range k.header {
		r.Header[name] = values
	}
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("User-Agent", c.Agent)
	set("Accept", k.accept)
	if k.accept == "" {
		set("Accept", "application/json, application/problem+json")
	}
	set("Content-Type", sent.kind)
	set("Idempotency-Key", k.key)
	if c.Token != "" {
		set("Authorization", "Bearer "+c.Token)
	}
	if k.stream != nil {
		set("Expect", "100-continue") // a refused upload is not sent
	}
	return r, sent, nil
}

func (c *Client) url(k *call) string {
	at := *c.at
	for _, part := range k.path {
		at.RawPath = at.EscapedPath() + "/" + url.PathEscape(part)
		at.Path += "/" + part
	}
	at.RawQuery = k.query.Encode()
	return at.String()
}

// failed returns why there was no answer.
func (c *Client) failed(ctx context.Context, err error) error {
	var ours *core.Error
	if errors.As(err, &ours) {
		return backoff.Permanent(ours) // a redirect
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
		return backoff.Permanent(cause)
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return backoff.Permanent(core.Wrap(untrusted.Err, core.CodeUnavailable, c.Server, "the certificate of %s is not to be trusted", c.Server))
	}
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err // the rest is the URL
	}
	return c.away(err)
}

func (c *Client) away(err error) error {
	return core.Wrap(err, core.CodeUnavailable, c.Server, "the site %s does not answer", c.Server)
}

// repeat repeats a call as long as that may help and does no harm. It is not generic: with the library's part of it, it
// would be compiled anew for each type of answer.
func (c *Client) repeat(ctx context.Context, k *call, try func(ctx context.Context) error) error {
	options := []backoff.RetryOption{backoff.WithBackOff(c.pauses()), backoff.WithMaxElapsedTime(c.Timeout)}
	if c.Timeout < 0 || !k.repeatable() {
		options = append(options, backoff.WithMaxTries(1))
	}
	if c.Again != nil {
		options = append(options, backoff.WithNotify(func(err error, wait time.Duration) { c.Again(plain(err), wait) }))
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, try(ctx) }, options...)
	return plain(err)
}

func (c *Client) pauses() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = c.Pause, pauseMost
	return b
}

// plain removes from an error what only repeat needs.
func plain(err error) error {
	var permanent *backoff.PermanentError
	var when *asked
	switch {
	case errors.As(err, &when):
		return when.error
	case errors.As(err, &permanent):
		return permanent.Err
	}
	return err
}
