package agent

import (
	"context"
	"io"
	"net/http"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Give writes what is kept under a name to w, for Take in another VM, and returns how many bytes it has. They say
// nothing to anybody else, and prove nothing: user code may have taken the VM over. Returns INVALID for an unknown
// name, LIMIT if there are more than most bytes; BADVM.
func (c *Client) Give(ctx context.Context, name string, w io.Writer, most int64) (int64, error) {
	call, give := context.WithCancelCause(ctx)
	defer give(nil)
	silence := time.AfterFunc(c.silence, func() { give(ErrSilent) })
	defer silence.Stop()
	resp, err := c.send(call, http.MethodGet, wire.PathKept+name, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // all of it was read, or it is of no use
	size := resp.ContentLength
	if size < 0 || size > most {
		return 0, core.Errorf(core.CodeLimit, c.vm, "what is kept as %q has %d bytes; %d are allowed", name, size, most)
	}
	buf := make([]byte, wire.MaxFrame)
	for left := size; left > 0; {
		silence.Reset(c.silence)
		n, err := resp.Body.Read(buf[:min(left, int64(len(buf)))])
		silence.Stop() // time spent here is not the VM's silence
		if _, werr := w.Write(buf[:n]); werr != nil {
			return 0, werr
		}
		if left -= int64(n); err != nil && left > 0 {
			return 0, c.broken(call, err)
		}
	}
	return size, nil
}

// Take keeps what Give has written under a name, as Keep does. Returns INVALID for bytes that are nothing of the kind,
// LIMIT if there is no room, and the error of r if that failed; BADVM.
func (c *Client) Take(ctx context.Context, name string, r io.Reader) error {
	call, give := context.WithCancelCause(ctx)
	defer give(nil)
	silence := 4 * c.silence
	from := &source{r: r, silence: time.AfterFunc(silence, func() { give(ErrSilent) }), most: silence}
	defer from.silence.Stop()
	err := c.call(call, http.MethodPut, wire.PathKept+name, from, nil)
	if err != nil && from.err != nil {
		return from.err
	}
	return err
}
