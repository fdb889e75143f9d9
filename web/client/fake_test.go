package client_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"drover/core"
	"drover/web/client"

	"github.com/stretchr/testify/require"
)

// site is a site that answers in turn, the last answer forever, and remembers what it was asked.
type site struct {
	mu      sync.Mutex
	answers []func(r *http.Request) (*http.Response, error)
	asked   []*http.Request
	bodies  []string
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	s.mu.Lock()
	s.asked, s.bodies = append(s.asked, r), append(s.bodies, body)
	answer := s.answers[min(len(s.asked), len(s.answers))-1]
	s.mu.Unlock()
	return answer(r)
}

func says(status int, kind, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {kind}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func problem(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return says(status, "application/problem+json", body, header...)
}

func good(body string) func(*http.Request) (*http.Response, error) {
	return says(http.StatusOK, "application/json", body)
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// asks is a client of a site.
func asks(t *testing.T, s *site, change ...func(o *client.Options)) *client.Client {
	t.Helper()
	o := client.Options{Server: "https://drover.example.org", Token: "dro_secret", Transport: s}
	for _, c := range change {
		c(&o)
	}
	c, err := client.New(o)
	require.NoError(t, err)
	return c
}

func requireCode(t *testing.T, code core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, core.CodeOf(err), err.Error())
}
