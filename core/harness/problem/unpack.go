package problem

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"drover/core"
	"drover/core/blobs/archive"
	"drover/core/harness"
)

// Read is Open for a package in an archive, a tar, compressed or not, or a zip, which is unpacked until Close. Name is the
// archive's. Links stay links, and are followed only within the package.
func Read(name string, from io.Reader) (*Problem, error) {
	parent, err := os.MkdirTemp("", "drover-problem-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, name, "there is no room to unpack %.80q", name)
	}
	p, err := readInto(filepath.Join(parent, folderOf(name)), name, from)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(parent))
	}
	p.unpacked = parent
	return p, nil
}

// folderOf names a folder for what is in an archive: some packages have no other name.
func folderOf(name string) string {
	stem, _, _ := strings.Cut(filepath.Base(name), ".")
	if !plainName().MatchString(stem) {
		return "package"
	}
	return stem
}

func readInto(dir, name string, from io.Reader) (*Problem, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	u := unpacking{root: root, room: harness.MaxPackBytes}
	for f, fault := range archive.Linked(name, from) {
		if err = fault; err == nil {
			err = u.take(f)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	if !u.found {
		return nil, core.Errorf(core.CodeInvalid, name, "%.80q is no problem package: there is no %s and no %s in it", name, File, PolygonFile)
	}
	return Open(filepath.Join(dir, filepath.FromSlash(u.top)))
}

// unpacking is a package of which some files are there.
type unpacking struct {
	root  *os.Root
	room  int64 // bytes that are left
	files int
	top   string // the folder nearest to the top that has settings
	found bool
}

// take writes one file.
func (u *unpacking) take(f archive.File) error {
	at := path.Clean(f.Path)
	if at == "." {
		return nil
	}
	if !fs.ValidPath(at) {
		return core.Errorf(core.CodeInvalid, f.Path, "%.80q leads out of the package", f.Path)
	}
	if u.files++; u.files > maxFiles {
		return core.Errorf(core.CodeLimit, "", "the package has more than %d files", maxFiles)
	}
	var err error
	if f.Mode.IsDir() {
		err = u.root.MkdirAll(at, 0o700)
	} else if err = u.root.MkdirAll(path.Dir(at), 0o700); err == nil {
		err = u.write(at, f)
	}
	if name := path.Base(at); (name == File || name == PolygonFile) && (!u.found || len(path.Dir(at)) < len(u.top)) {
		u.top, u.found = path.Dir(at), true
	}
	return core.Wrap(err, core.CodeOr(err, core.CodeInvalid), f.Path, "%.80q cannot be unpacked", f.Path)
}

func (u *unpacking) write(at string, f archive.File) error {
	if f.Link != "" {
		// It may lead out of the folder: what reads the package does not follow it then.
		to := path.Clean(f.Link)
		if !path.IsAbs(to) {
			to = strings.Repeat("../", strings.Count(at, "/")) + to
		}
		return u.root.Symlink(to, at)
	}
	mode := filePlain
	if f.Mode&0o100 != 0 {
		mode = fileRun
	}
	out, err := u.root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(f.Content, u.room+1))
	if u.room -= n; u.room < 0 && err == nil {
		err = core.Errorf(core.CodeLimit, "", "the package has more than %d MiB", harness.MaxPackBytes/mebi)
	}
	return errors.Join(err, out.Close())
}
