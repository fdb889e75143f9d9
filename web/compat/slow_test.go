package compat_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/web/compat"
)

// pipes is a listener whose connections are pipes: their deadlines are of the bubble's clock.
type pipes struct{ made chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.made
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A body may come slowly, but not stop, and not for ever.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause time.Duration // between two bytes
		size  int
		whole bool
		after time.Duration // at which it is cut off
	}{
		"slow":        {20 * time.Second, 4, true, 0},
		"silent":      {time.Hour, 4, false, 30 * time.Second},
		"too slow":    {20 * time.Second, 1000, false, 94 * time.Second}, // 4 MiB may take that
		"after a bit": {31 * time.Second, 4, false, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate(nil, 0)
				type end struct {
					n     int
					err   error
					after time.Duration
				}
				ended := make(chan end, 1)
				server := &http.Server{
					ReadTimeout: 10 * time.Second,
					Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						began := time.Now()
						body, release, err := g.Body(w, r, ann, 4<<20)
						if err == nil {
							defer release()
							var content []byte
							content, err = io.ReadAll(body)
							ended <- end{len(content), err, time.Since(began)}
						}
					}),
				}
				on := pipes{make(chan net.Conn, 1)}
				served := make(chan error, 1)
				go func() { served <- server.Serve(on) }()
				here, there := net.Pipe()
				on.made <- there
				go func() { _, _ = io.Copy(io.Discard, here) }()
				var writing sync.WaitGroup
				writing.Go(func() {
					_, err := fmt.Fprintf(here, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", c.size)
					for i := 0; i < c.size && err == nil; i++ {
						_, err = here.Write([]byte("x"))
						<-time.After(c.pause)
					}
				})
				got := <-ended
				if c.whole {
					require.NoError(t, got.err)
					require.Equal(t, c.size, got.n)
				} else {
					require.ErrorIs(t, got.err, compat.ErrSlow)
					require.InDelta(t, c.after.Seconds(), got.after.Seconds(), 2)
				}
				close(on.made)
				require.NoError(t, here.Close())
				require.NoError(t, server.Close())
				<-served
				writing.Wait()
			})
		})
	}
}
