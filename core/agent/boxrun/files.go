package boxrun

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"

	"drover/core/agent/wire"
)

// chunked writes each piece as a chunk.
type chunked struct{ to io.Writer }

// Write writes one chunk.
func (c chunked) Write(b []byte) (int, error) {
	if _, err := c.to.Write(chunk(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// sendFiles sends what a folder holds, for a box that is another VM: it has the same then, under the same path. Links
// are followed.
func sendFiles(conn io.Writer, folder string) error {
	s := &sending{out: bufio.NewWriterSize(chunked{conn}, readSize)}
	if err := s.folder(folder, ""); err != nil {
		return err
	}
	if err := s.entry(wire.Entry{Kind: wire.EntryEnd}); err != nil {
		return err
	}
	return s.out.Flush()
}

type sending struct {
	out     *bufio.Writer
	entries int
}

func (s *sending) entry(e wire.Entry) error {
	_, err := s.out.Write(wire.AppendEntry(nil, e))
	return err
}

// folder sends all that is below a folder; name is its own among the entries.
func (s *sending) folder(at, name string) error {
	all, err := os.ReadDir(at)
	if err != nil {
		return err
	}
	for _, one := range all {
		if s.entries++; s.entries > wire.MaxEntries {
			return fmt.Errorf("%s holds more than %d files and folders, which are too many to send", at, wire.MaxEntries)
		}
		e := wire.Entry{Kind: wire.EntryFile, Name: path.Join(name, one.Name())}
		if err := wire.CheckName(e.Name); err != nil {
			return fmt.Errorf("%s cannot be sent: %w", path.Join(at, one.Name()), err)
		}
		if err := s.one(path.Join(at, one.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (s *sending) one(at string, e wire.Entry) error {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		e.Kind, e.Mode = wire.EntryDir, uint32(info.Mode().Perm())
		if err := s.entry(e); err != nil {
			return err
		}
		return s.folder(at, e.Name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder, and cannot be sent", at)
	}
	in, err := os.Open(at)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	e.Mode, e.Size = uint32(info.Mode().Perm()), info.Size()
	if err := s.entry(e); err != nil {
		return err
	}
	if n, err := io.CopyN(s.out, in, e.Size); err != nil {
		return fmt.Errorf("%s ended after %d of its %d bytes: %w", at, n, e.Size, err)
	}
	return nil
}
