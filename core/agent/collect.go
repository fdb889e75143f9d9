package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

type (
	// Collection names the files to collect from a place.
	Collection = wire.Collection
	// Taken is a collected file.
	Taken = wire.Taken
	// Skipped is a file that was not collected.
	Skipped = wire.Skipped
)

// Collect reads files that runs have left in a place: "harness", "submission" or "work". Only plain files are read,
// within bounds on their number and bytes; links are not followed, pipes and devices not opened. The part of a file
// that take does not read is discarded; an error of take ends the collection and is returned.
//
// All of this is checked here again, since the VM's agent is not trusted. Returns what was left out; BADVM if the VM
// does not answer correctly, INVALID or CONFLICT if it refuses.
func (c *Client) Collect(ctx context.Context, place string, want Collection, take func(Taken, io.Reader) error) ([]Skipped, error) {
	var body bytes.Buffer
	to := json.NewEncoder(&body)
	to.SetEscapeHTML(false) // keeps the body small
	if err := to.Encode(want); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, c.vm, "collect files of VM %s", c.vm)
	}
	if body.Len() > wire.MaxBody {
		return nil, core.Errorf(core.CodeLimit, c.vm, "the paths of a collection have more than %d bytes", wire.MaxBody)
	}
	call, give := context.WithCancelCause(ctx)
	defer give(nil)
	silence := time.AfterFunc(c.silence, func() { give(ErrSilent) })
	defer silence.Stop()
	resp, err := c.send(call, http.MethodPost, wire.PathCollect+place, &body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // all of it was read, or it is broken
	in := &incoming{client: c, ctx: call, body: resp.Body, silence: silence, want: want, seen: map[string]bool{}, buf: make([]byte, wire.MaxFrame)}
	if in.files = want.Files; in.files == 0 {
		in.files = wire.MaxTaken
	}
	if in.bytes = want.Bytes; in.bytes == 0 {
		in.bytes = wire.MaxTakenBytes
	}
	return in.all(take)
}

// incoming is a collection in progress, checked against the request.
type incoming struct {
	client  *Client
	ctx     context.Context
	body    io.Reader
	silence *time.Timer
	want    Collection
	files   int   // that may still come
	bytes   int64 // of them
	seen    map[string]bool
	skipped []Skipped
	buf     []byte
}

func (in *incoming) all(take func(Taken, io.Reader) error) ([]Skipped, error) {
	for {
		kind, data, err := in.frame()
		if err != nil {
			return nil, err
		}
		switch kind {
		case wire.KindTaken:
			return in.skipped, nil
		case wire.KindSkipped:
			err = in.skip(data)
		case wire.KindFile:
			err = in.file(data, take)
		default:
			err = in.nonsense(nil)
		}
		if err != nil {
			return nil, err
		}
	}
}

// frame reads the next frame other than a keepalive.
func (in *incoming) frame() (wire.Kind, []byte, error) {
	for {
		in.silence.Reset(in.client.silence)
		kind, data, err := wire.ReadFrame(in.body, in.buf)
		in.silence.Stop() // time spent here is not the VM's silence
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil, in.client.broken(in.ctx, io.ErrUnexpectedEOF)
		case err != nil:
			return 0, nil, in.client.broken(in.ctx, err)
		case kind == wire.KindFault:
			var fault wire.Refusal
			if err := json.Unmarshal(data, &fault); err != nil {
				return 0, nil, in.nonsense(err)
			}
			return 0, nil, in.client.failed(fault)
		case kind != wire.KindAlive:
			return kind, data, nil
		}
	}
}

func (in *incoming) nonsense(err error) error {
	if err != nil {
		return core.Wrap(err, core.CodeBadVM, in.client.vm, "VM %s sends files as they cannot be", in.client.vm)
	}
	return core.Errorf(core.CodeBadVM, in.client.vm, "VM %s sends files that nobody asked for", in.client.vm)
}

func (in *incoming) skip(data []byte) error {
	var s Skipped
	if err := json.Unmarshal(data, &s); err != nil || len(in.skipped) >= wire.MaxSkipped || len(s.Path) > wire.MaxName || len(s.Why) > wire.MaxPart {
		return in.nonsense(err)
	}
	in.skipped = append(in.skipped, s)
	return nil
}

func (in *incoming) file(data []byte, take func(Taken, io.Reader) error) error {
	var f Taken
	if err := json.Unmarshal(data, &f); err != nil {
		return in.nonsense(err)
	}
	in.files--
	in.bytes -= max(f.Size, 0)
	if f.Size < 0 || in.files < 0 || in.bytes < 0 || f.Mode&^0o777 != 0 || in.seen[f.Path] || wire.CheckName(f.Path) != nil || !in.asked(f.Path) {
		return in.nonsense(nil)
	}
	in.seen[f.Path] = true
	body := &fileBody{in: in, left: f.Size}
	err := take(f, body)
	if body.err != nil {
		return body.err
	}
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return err
}

// asked reports whether a path was requested, or is below one that was.
func (in *incoming) asked(name string) bool {
	return slices.ContainsFunc(in.want.Paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// fileBody reads one file's bytes.
type fileBody struct {
	in   *incoming
	left int64
	rest []byte // of the last frame
	err  error  // why there is no more
}

// Read reads the file.
func (b *fileBody) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.left == 0:
		return 0, io.EOF
	}
	if len(b.rest) == 0 {
		kind, data, err := b.in.frame()
		if err == nil && (kind != wire.KindData || len(data) == 0 || int64(len(data)) > b.left) {
			err = b.in.nonsense(nil)
		}
		if err != nil {
			b.err = err
			return 0, err
		}
		b.rest = data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	b.left -= int64(n)
	return n, nil
}
