package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"drover/core"
)

// download opens a file of the site, and returns its size in bytes; below 0 if that is not known.
func (c *Client) download(ctx context.Context, parts ...string) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	k := call{method: http.MethodGet, path: parts, accept: "application/octet-stream, application/problem+json", header: http.Header{"Accept-Encoding": {"identity"}}}
	var r *http.Response
	err := c.repeat(ctx, &k, func(ctx context.Context) (err error) {
		r, err = c.send(ctx, &k) //nolint:bodyclose // newContent closes it
		return err
	})
	if err != nil {
		cancel(nil)
		return nil, 0, err
	}
	return newContent(c, r, cancel), r.ContentLength, nil
}

// content is a file that is being received. It is given up after a long silence.
type content struct {
	client *Client
	body   io.ReadCloser
	quiet  *time.Timer
	cancel context.CancelCauseFunc
}

// errSilence ends a stream after a long silence.
var errSilence = errors.New("nothing came for long")

func newContent(c *Client, r *http.Response, cancel context.CancelCauseFunc) *content {
	return &content{c, r.Body, time.AfterFunc(silence, func() { cancel(errSilence) }), cancel}
}

// Read reads on. Returns UNAVAILABLE if the file breaks off.
func (f *content) Read(b []byte) (int, error) {
	n, err := f.body.Read(b)
	f.quiet.Reset(silence)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader has it
		err = core.Wrap(err, core.CodeUnavailable, f.client.Server, "the file broke off on its way from %s: fetch it again", f.client.Server)
	}
	return n, err
}

// Close ends it.
func (f *content) Close() error {
	f.quiet.Stop()
	err := f.body.Close()
	f.cancel(nil)
	return err
}
