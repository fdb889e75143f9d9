package client

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// Bounds of a site's refusal.
const (
	maxProblem = 64 << 10
	maxCode    = 40
	maxText    = 4000
)

// signedOut is the refusal of an unauthenticated caller.
type signedOut struct{ refusal *core.Error }

func (e signedOut) Error() string { return e.refusal.Error() }

// Unwrap returns the refusal itself.
func (e signedOut) Unwrap() error { return e.refusal }

// SignedOut reports whether a site refused a call because the token is missing, wrong, expired or revoked.
func SignedOut(err error) bool {
	var e signedOut
	return errors.As(err, &e)
}

// problem is a refusal by RFC 9457, with drover's code.
type problem struct {
	Detail string    `json:"detail"`
	Code   core.Code `json:"code"`
	ID     string    `json:"id"`
}

// refusal makes an error of an answer other than 2xx.
func (c *Client) refusal(r *http.Response) error {
	var p problem
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/problem+json" || json.NewDecoder(io.LimitReader(r.Body, maxProblem)).Decode(&p) != nil || p.Detail == "" {
		return c.stranger(r)
	}
	e := core.Errorf(core.Code(cut(string(p.Code), maxCode)), cut(p.ID, maxText), "%s", cut(p.Detail, maxText))
	switch {
	case r.StatusCode == http.StatusUnauthorized:
		return signedOut{e}
	case r.StatusCode == http.StatusNotFound && strings.HasPrefix(p.ID, "/api/"):
		return core.Errorf(core.CodeVersion, p.ID, "the site %s and this program have different versions: it says that %s", c.Server, e.Text)
	case e.Code == "":
		e.Code = codeOf(r.StatusCode)
	}
	return e
}

// stranger makes an error of an answer that is not drover's: a proxy's, or another program's.
func (c *Client) stranger(r *http.Response) error {
	switch r.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return core.Errorf(core.CodeUnavailable, c.Server, "the site %s is away: what stands before it answers %s", c.Server, status(r))
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge:
		return core.Errorf(codeOf(r.StatusCode), c.Server, "what stands before the site %s refuses with %s", c.Server, status(r))
	}
	return core.Errorf(core.CodeVersion, c.Server, "%s does not answer as a site of drover with version 1 of the API does, but with %s: is the address right?", c.Server, status(r))
}

func status(r *http.Response) string {
	return strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode)
}

// codeOf returns the code for a status.
func codeOf(status int) core.Code {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return core.CodeNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return core.CodeForbidden
	case http.StatusConflict, http.StatusPreconditionFailed:
		return core.CodeConflict
	case http.StatusTooManyRequests:
		return core.CodeFull
	case http.StatusRequestEntityTooLarge:
		return core.CodeLimit
	}
	if status >= http.StatusInternalServerError {
		return core.CodeInternal
	}
	return core.CodeInvalid
}

// later reports whether the same call may succeed later, and when, if the site says so; below 0 if it does not.
func later(r *http.Response, refusal error) (bool, time.Duration) {
	switch r.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return false, -1
	}
	after := r.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
		return true, time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil {
		return true, max(0, time.Until(at))
	}
	return core.Is(refusal, core.CodeUnavailable), -1
}

// cut shortens a text to at most so many bytes, whole characters.
func cut(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}
