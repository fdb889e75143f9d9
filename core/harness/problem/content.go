package problem

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"

	"drover/core"
	"drover/core/harness"
)

// content is what a file has; two with the same need to be there only once.
type content struct {
	sum [sha256.Size]byte
	run bool
}

// test copies a file of the package's data into the harness folder, unless a file with the same content is there: many
// packages have links and copies. It returns where the content is.
func (w *writer) test(name string) string {
	if w.err != nil {
		return name
	}
	run := w.executable(name)
	sum, n, err := w.stream(name, run)
	if err != nil {
		w.err = core.Wrap(err, core.CodeOr(err, core.CodeInvalid), name, "%s cannot be copied", name)
		return name
	}
	is := content{run: run}
	copy(is.sum[:], sum)
	if w.contents == nil {
		w.contents = map[content]string{}
	}
	at, there := w.contents[is]
	if there && at != name {
		w.err = os.Remove(w.path(name))
		return at
	}
	w.contents[is] = name
	w.grow(name, n)
	return name
}

// stream copies a file, and returns its SHA-256 and size.
func (w *writer) stream(name string, run bool) (sum []byte, n int64, err error) {
	from, err := w.p.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer from.Close() //nolint:errcheck // only read from
	at := w.path(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return nil, 0, err
	}
	mode := filePlain
	if run {
		mode = fileRun
	}
	to, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, 0, err
	}
	hash := sha256.New()
	n, err = io.Copy(io.MultiWriter(to, hash), io.LimitReader(from, harness.MaxPackBytes+1))
	return hash.Sum(nil), n, errors.Join(err, to.Close())
}

// grow counts what the folder has. Beyond the limit it is an error.
func (w *writer) grow(name string, n int64) {
	if w.size += n; w.size > harness.MaxPackBytes && w.err == nil {
		w.err = core.Errorf(core.CodeLimit, name, "the package has more than %d MiB of tests and programs", harness.MaxPackBytes/mebi)
	}
}

func (w *writer) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *writer) executable(name string) bool {
	info, err := w.p.root.Stat(name)
	return err == nil && info.Mode()&0o100 != 0
}
