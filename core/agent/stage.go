package agent

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Stage unpacks a tar stream into an empty place ("harness", "submission" or "work"), owned by the job user, once.
// Afterwards all of it is there, or nothing. Returns INVALID for an archive that is broken or holds links, devices,
// pipes, sparse files, repeated or escaping names; LIMIT for one that is too large, too deep or has too many entries;
// CONFLICT for a place that is not empty; and the error of the stream's Read if that failed.
func (c *Client) Stage(ctx context.Context, place string, archive io.Reader) error {
	return c.put(ctx, wire.PathStage+place, archive, tarEntries)
}

// Lay unpacks a tar stream into a place, overwriting existing files. Returns as Stage does, but never CONFLICT; after
// an error some files may be there.
func (c *Client) Lay(ctx context.Context, place string, archive io.Reader) error {
	return c.put(ctx, wire.PathLay+place, archive, tarEntries)
}

// Keep keeps the files of the place work under a name of small letters, for Reset, in the place of what was kept under
// it: plain files, folders, links, with their modes and times. Returns LIMIT or INVALID if what a run has left there
// cannot be kept; nothing is kept under the name then.
func (c *Client) Keep(ctx context.Context, name string) error {
	return c.tidy(ctx, wire.PathKeep+name)
}

// Reset removes every trace of earlier runs: files, in all places that user code can write to, and shared memory;
// their processes must be dead. The places accept archives again. Then it restores what was kept under the name to
// work; "" is nothing. Returns NOTFOUND for an unknown name, LIMIT if there is no room.
func (c *Client) Reset(ctx context.Context, kept string) error {
	if kept == "" {
		return c.tidy(ctx, wire.PathReset)
	}
	return c.tidy(ctx, wire.PathRestore+kept)
}

// tidying is how long a reset may take, since a job may leave many files.
func (c *Client) tidying() time.Duration { return 8 * c.silence }

func (c *Client) tidy(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.tidying(), ErrSilent)
	defer cancel()
	return c.call(ctx, http.MethodPost, path, nil, nil)
}

// put streams an archive to the agent.
func (c *Client) put(ctx context.Context, to string, archive io.Reader, of func(io.Reader) *entries) error {
	call, give := context.WithCancelCause(ctx)
	defer give(nil)
	silence := 4 * c.silence // removing a refused archive of thousands of files takes a while
	from := &source{r: archive, silence: time.AfterFunc(silence, func() { give(ErrSilent) }), most: silence}
	defer from.silence.Stop()
	entries := of(from)
	err := c.call(call, http.MethodPut, to, entries, nil)
	switch {
	case err == nil || core.Is(err, core.CodeBadVM) || core.Is(err, core.CodeUnavailable):
		return err
	case from.err != nil:
		return from.err
	case entries.err != nil:
		return entries.err
	}
	return err
}

// source is the archive's stream. It records why reading failed, which is not the archive's fault, and does not count
// the time of reads as the agent's silence.
type source struct {
	r       io.Reader
	err     error
	silence *time.Timer
	most    time.Duration
}

func (s *source) Read(b []byte) (int, error) {
	s.silence.Stop()
	defer s.silence.Reset(s.most)
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// entries sends an archive in the agent's format. A fault of the archive ends the stream with an entry that makes the
// agent empty the place again.
type entries struct {
	entry func() (wire.Entry, error) // the next one
	body  io.Reader                  // of the latest
	head  []byte                     // of an entry, not yet read
	left  int64                      // of a file's bytes, not yet read
	done  bool
	err   error // why the archive was given up
	buf   []byte
}

// tarEntries converts a tar.
func tarEntries(r io.Reader) *entries {
	in := tar.NewReader(r)
	return &entries{entry: func() (wire.Entry, error) { return tarEntry(in) }, body: in}
}

// sameEntries passes on what has the agent's format.
func sameEntries(r io.Reader) *entries {
	return &entries{body: r, entry: func() (wire.Entry, error) {
		e, err := wire.ReadEntry(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = tooEarly(err)
		}
		return e, err
	}}
}

func (e *entries) Read(b []byte) (int, error) {
	for len(e.head) == 0 && e.left == 0 {
		if e.done {
			return 0, io.EOF
		}
		e.next()
	}
	if len(e.head) > 0 {
		n := copy(b, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	b = b[:min(int64(len(b)), e.left)]
	n := len(b)
	if e.err == nil {
		var err error
		if n, err = e.body.Read(b); err != nil && int64(n) < e.left {
			e.err = tooEarly(err)
		}
	} else {
		clear(b) // the promised bytes must be sent; the void entry after them counts
	}
	e.left -= int64(n)
	return n, nil
}

// next prepares the next entry's head.
func (e *entries) next() {
	entry := wire.Entry{Kind: wire.EntryVoid}
	if e.err == nil {
		if next, err := e.entry(); err != nil {
			e.err = err
		} else {
			entry = next
		}
	}
	e.done = entry.Kind == wire.EntryVoid || entry.Kind == wire.EntryEnd
	e.left = entry.Size
	e.buf = wire.AppendEntry(e.buf[:0], entry)
	e.head = e.buf
}

func tarEntry(in *tar.Reader) (wire.Entry, error) {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return wire.Entry{Kind: wire.EntryEnd}, nil
		}
		if err != nil {
			return wire.Entry{}, broken(err)
		}
		entry := wire.Entry{Mode: uint32(h.Mode) & 0o777} //nolint:gosec // masked
		switch h.Typeflag {
		case tar.TypeReg:
			entry.Kind, entry.Size = wire.EntryFile, h.Size
		case tar.TypeDir:
			entry.Kind = wire.EntryDir
		case tar.TypeXGlobalHeader:
			continue // a comment, such as git archive writes
		default:
			return wire.Entry{}, core.Errorf(core.CodeInvalid, "", "the archive holds %q, which is neither file nor folder; links, devices and pipes are refused", h.Name)
		}
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return wire.Entry{}, core.Errorf(core.CodeInvalid, "", "the archive holds %q as a sparse file; pack it whole", h.Name)
			}
		}
		entry.Name = relative(h.Name, entry.Kind)
		if entry.Name == "." && entry.Kind == wire.EntryDir {
			continue // the place itself
		}
		return entry, wire.CheckName(entry.Name)
	}
}

// relative removes what tar programs add to a name: "./" before it and the "/" after a folder's. CheckName judges the
// rest.
func relative(name string, kind wire.EntryKind) string {
	if kind == wire.EntryDir {
		name = strings.TrimSuffix(name, "/")
	}
	if rest, ok := strings.CutPrefix(name, "./"); ok && rest != "" && !path.IsAbs(rest) {
		return rest
	}
	return name
}

func tooEarly(err error) error {
	return core.Wrap(err, core.CodeInvalid, "", "the archive ends too early")
}

func broken(err error) error {
	return core.Wrap(err, core.CodeInvalid, "", "the archive is not a tar stream")
}
