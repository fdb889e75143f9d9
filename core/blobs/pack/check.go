package pack

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"drover/core"
)

// Summary says what an archive holds.
type Summary struct {
	Entries int
	Bytes   int64
}

// Check reads an archive to its end and returns its summary. Returns INVALID for one that Folder cannot have written:
// a path that leads out, is repeated or out of order, a file without its folder, a link, another owner, time or mode;
// LIMIT beyond the limits.
func Check(r io.Reader, limits Limits) (Summary, error) {
	var s Summary
	from, last := tar.NewReader(r), ""
	folders := map[string]bool{".": true}
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return s, atEnd(r)
		}
		if err != nil {
			return s, unreadable(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		if err := checkEntry(h, name, last, folders); err != nil {
			return s, err
		}
		s.Entries, s.Bytes, last = s.Entries+1, s.Bytes+h.Size, name
		if err := limits.check(s.Entries, s.Bytes); err != nil {
			return s, err
		}
		if h.Typeflag == tar.TypeDir {
			folders[name] = true
		}
		if _, err := io.Copy(io.Discard, from); err != nil { //nolint:gosec // its size was checked
			return s, unreadable(err)
		}
	}
}

// checkEntry checks one header.
func checkEntry(h *tar.Header, name, last string, folders map[string]bool) error {
	refuse := func(why string) error {
		return core.Errorf(core.CodeInvalid, name, "%q in the archive %s", h.Name, why)
	}
	if err := checkPath(name); err != nil {
		return err
	}
	want := header(name, h.Typeflag == tar.TypeDir, h.Mode&0o111 != 0, h.Size)
	switch {
	case name == "." || !fs.ValidPath(name):
		return refuse("leads out of its folder or is not in its simplest form")
	case h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg:
		return refuse("is neither a file nor a folder")
	case name <= last:
		return refuse("comes twice or out of order")
	case !folders[path.Dir(name)]:
		return refuse("comes without its folder")
	case h.Name != want.Name, h.Mode != want.Mode, !h.ModTime.Equal(want.ModTime), h.Linkname != "",
		h.Uid != 0, h.Gid != 0, h.Uname != "", h.Gname != "", !plain(h.PAXRecords):
		return refuse("has another owner, time or mode than drover gives")
	}
	return nil
}

// plain reports whether a header has nothing but a path.
func plain(records map[string]string) bool {
	for key := range records {
		if key != "path" {
			return false
		}
	}
	return true
}

// atEnd returns INVALID if something follows the archive.
func atEnd(r io.Reader) error {
	n, err := io.CopyN(io.Discard, r, 1)
	if n > 0 {
		return core.Errorf(core.CodeInvalid, "", "something follows the end of the archive")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return unreadable(err)
}

func unreadable(err error) error {
	return core.Wrap(err, core.CodeInvalid, "", "the archive cannot be read")
}
