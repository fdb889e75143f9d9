package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"drover/core"
)

// spoolMemory is how much of a stream is held in memory before it goes to disk.
const spoolMemory = 1 << 20

// spooled is a stream that was read to its end, because its name is known only then.
type spooled struct {
	memory bytes.Buffer
	file   *os.File // nil if memory has it all
	digits string
	size   int64
}

// spool reads a stream of at most limit bytes. Its file is in dir without a name, so that nothing of it can be left
// behind. Returns LIMIT.
func spool(ctx context.Context, r io.Reader, limit int64, dir string) (*spooled, error) {
	s, sum := &spooled{}, sha256.New()
	from := io.TeeReader(io.LimitReader(watched{ctx, sent{r}}, limit+1), sum)
	size, err := io.CopyN(&s.memory, from, spoolMemory)
	if err == nil {
		if s.file, err = nameless(dir); err == nil {
			var more int64
			more, err = io.Copy(s.file, from)
			size += more
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, s.Close())
	}
	if size > limit {
		return nil, errors.Join(core.Errorf(core.CodeLimit, "", "the file is larger than the %d bytes allowed", limit), s.Close())
	}
	s.digits, s.size = hex.EncodeToString(sum.Sum(nil)), size
	return s, nil
}

// writeTo writes the whole.
func (s *spooled) writeTo(w io.Writer) error {
	if _, err := w.Write(s.memory.Bytes()); err != nil {
		return err
	}
	if s.file == nil {
		return nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}

// Close gives the room back.
func (s *spooled) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// nameless makes a file without a name, so that nothing of it stays even if the process is killed. On file systems
// without that, it has a name for a moment.
func nameless(dir string) (*os.File, error) {
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); err == nil {
		return os.NewFile(uintptr(fd), filepath.Join(dir, "nameless")), nil
	}
	f, err := os.CreateTemp(dir, ".put-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "folder %s cannot take a file that is being stored", dir)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, core.Wrap(errors.Join(err, f.Close()), core.CodeUnavailable, dir, "folder %s cannot take a file that is being stored", dir)
	}
	return f, nil
}

// sent is a stream from a caller: if it breaks, the fault is the caller's.
type sent struct{ from io.Reader }

// Read reads on.
func (s sent) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	var known *core.Error
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &known) {
		err = core.Wrap(err, core.CodeInvalid, "", "the file to store broke off: send it again")
	}
	return n, err
}

// watched ends a stream with its context.
type watched struct {
	ctx  context.Context // a Reader has no other place for it
	from io.Reader
}

// Read reads on until the context ends.
func (w watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, fault(err, "")
	}
	return w.from.Read(p)
}
