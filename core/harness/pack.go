package harness

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"drover/core"
	"drover/core/blobs/nameless"
	"drover/core/blobs/pack"
	"drover/core/harness/cases"
	"drover/core/school"
)

// Bounds on a harness folder.
const (
	MaxPackFiles    = 8_000     // and folders: as many as a VM's agent accepts
	MaxPackBytes    = 512 << 20 // of its archive
	MaxProgramBytes = 64 << 20  // of its archive, if it has a program of its own: VMs get the whole of that
	MaxConfigSize   = 32 << 10  // bytes of harness.json, which is part of each request's spec
)

// Package is a harness folder as a request carries it.
type Package struct {
	Config Config
	Cases  *cases.Plan // for the stock harness; nil if main grades

	Problem *school.Origin // of which it was made; nil for others

	Folder *cases.Archive // its files; nil if there is none
	tar    *nameless.File
}

// Size is the archive's, in bytes.
func (p *Package) Size() int64 { return p.Tar().Size() }

// Tar reads the folder's archive from its start. The same folder gives the same bytes.
func (p *Package) Tar() *io.SectionReader {
	if p.tar == nil {
		return io.NewSectionReader(nil, 0, 0)
	}
	return p.tar.Whole()
}

// Pack reads a harness folder, or a file with one in a form that Read accepts. It returns an INVALID or LIMIT error
// that says how to correct the folder. Required are an executable main or a valid cases.yaml; a harness.json must be
// valid; only plain files and folders are allowed.
func Pack(dir string) (Package, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return readFile(dir)
	}
	if err := checkFolder(dir); err != nil {
		return Package{}, err
	}
	tar := nameless.New("")
	// It is bounded, so it need not be interruptible.
	if err := pack.Folder(context.Background(), dir, tar, packLimits()); err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), dir, "the harness folder %s cannot be packed", dir)
	}
	p, err := read(tar)
	return p, core.Wrap(err, core.CodeOf(err), dir, "the harness folder %s", dir)
}

func readFile(name string) (Package, error) {
	file, err := os.Open(name)
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeInvalid, name, "the harness %s cannot be opened", name)
	}
	defer file.Close() //nolint:errcheck // only read from
	p, err := Read(file)
	return p, core.Wrap(err, core.CodeOf(err), name, "the harness %s", name)
}

// checkFolder refuses a folder that is no harness before it is packed.
func checkFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, dir, "the harness folder %s cannot be opened", dir)
	}
	defer root.Close() //nolint:errcheck // only read from
	for _, name := range []string{MainFile, cases.File} {
		if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return core.Wrap(err, core.CodeInvalid, dir, "%s of the harness folder %s cannot be read", name, dir)
		}
	}
	return core.Errorf(core.CodeInvalid, dir, "the harness folder %s has neither %s, a program that grades, nor %s, tests for the stock harness", dir, MainFile, cases.File)
}
