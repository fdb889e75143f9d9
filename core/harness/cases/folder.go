package cases

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"drover/core"
)

// Archive is a harness folder as a request carries it: a tar that can be read at any place.
type Archive struct {
	at    io.ReaderAt
	files map[string]extent
	names []string
}

type extent struct {
	start, size int64
	run         bool // it is executable
}

// Index finds the plain files of an archive of so many bytes. Returns INVALID
// for what is no tar, LIMIT for too many files.
func Index(at io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{at: at, files: map[string]extent{}}
	in := io.NewSectionReader(at, 0, size)
	const most = 20_000
	for r := tar.NewReader(in); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(a.names)
			return a, nil
		}
		if err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, "", "the harness's archive cannot be read")
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		// The reader stands at the file's first byte: it reads no further than a head.
		start, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if len(a.names) == most {
			return nil, core.Errorf(core.CodeLimit, "", "the harness's archive has more than %d files", most)
		}
		name := strings.TrimPrefix(path.Clean(head.Name), "./")
		if _, twice := a.files[name]; !twice {
			a.names = append(a.names, name)
		}
		a.files[name] = extent{start, head.Size, head.Mode&0o100 != 0}
	}
}

// Size is a plain file's, in bytes; false if there is none.
func (a *Archive) Size(name string) (int64, bool) {
	e, ok := a.files[name]
	return e.size, ok
}

// Executable reports whether a file may be run.
func (a *Archive) Executable(name string) bool { return a.files[name].run }

// Names are those of all plain files, sorted.
func (a *Archive) Names() []string { return a.names }

// Open reads a file, whose size comes with it. Returns NOTFOUND.
func (a *Archive) Open(name string) (io.Reader, int64, error) {
	e, ok := a.files[name]
	if !ok {
		return nil, 0, core.Errorf(core.CodeNotFound, "", "the harness's archive has no file %q", name)
	}
	return io.NewSectionReader(a.at, e.start, e.size), e.size, nil
}

// Open reads a content, whose size comes with it.
func (c Content) Open(a *Archive) (io.Reader, int64, error) {
	if c.Path == "" {
		return strings.NewReader(c.Text), int64(len(c.Text)), nil
	}
	return a.Open(c.Path)
}

// Read reads the whole of a content, of which so many bytes may be wanted at most.
func (c Content) Read(a *Archive, most int64) ([]byte, error) {
	r, _, err := c.Open(a)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, most))
}

// Plan reads the archive's cases.yaml. Returns INVALID if it has none or it is wrong.
func (a *Archive) Plan() (*Plan, error) {
	if _, there := a.Size(File); !there {
		return nil, core.Errorf(core.CodeInvalid, "", "the harness has no %s", File)
	}
	raw, err := Content{Path: File}.Read(a, MaxSize+1)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "%s cannot be read", File)
	}
	return Parse(raw, a)
}
