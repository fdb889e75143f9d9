package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness/cases"
	"drover/core/school"
)

// Bounds on a harness folder.
const (
	MaxPackFiles  = 8_000    // and folders: as many as a VM's agent accepts
	MaxPackBytes  = 64 << 20 // of its archive
	MaxConfigSize = 32 << 10 // bytes of harness.json, which is part of each request's spec
)

// Package is a harness folder as a request carries it.
type Package struct {
	Tar    []byte // the same folder gives the same bytes
	Config Config
	Cases  *cases.Plan // for the stock harness; nil if main grades

	Problem *school.Origin // of which it was made; nil for others
}

// Pack reads a harness folder, or a file with one in a form that Read accepts. It returns an INVALID or LIMIT error
// that says how to correct the folder. Required are an executable main or a valid cases.yaml; a harness.json must be
// valid; only plain files and folders are allowed.
func Pack(dir string) (Package, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return readFile(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeInvalid, dir, "the harness folder %s cannot be opened", dir)
	}
	defer root.Close() //nolint:errcheck // only read from
	stock, err := isStock(root)
	if err == nil && !stock {
		err = checkMain(root, dir)
	}
	if err != nil {
		return Package{}, err
	}
	config, err := readConfig(root, dir)
	if err != nil {
		return Package{}, err
	}
	var out bytes.Buffer
	// It is bounded, so it need not be interruptible.
	err = pack.Folder(context.Background(), dir, &out, packLimits())
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), dir, "the harness folder %s cannot be packed", dir)
	}
	if out.Len() > MaxPackBytes {
		return Package{}, core.Errorf(core.CodeLimit, dir, "the harness folder %s makes more than %d bytes", dir, int64(MaxPackBytes))
	}
	p := Package{Tar: out.Bytes(), Config: config}
	if !stock {
		return p, nil
	}
	p.Config.stock = true
	archive, err := cases.Index(bytes.NewReader(p.Tar), int64(len(p.Tar)))
	if err == nil {
		p.Cases, err = archive.Plan()
	}
	if err == nil {
		p.Problem, err = problemOf(archive)
	}
	return p, core.Wrap(err, core.CodeInvalid, dir, "the harness folder %s", dir)
}

func readFile(name string) (Package, error) {
	file, err := os.Open(name)
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeInvalid, name, "the harness %s cannot be opened", name)
	}
	defer file.Close() //nolint:errcheck // only read from
	packed, err := io.ReadAll(io.LimitReader(file, MaxPackBytes+1))
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeInvalid, name, "the harness %s cannot be read", name)
	}
	p, err := Read(packed)
	return p, core.Wrap(err, core.CodeOf(err), name, "the harness %s", name)
}

// isStock reports whether a folder is for the stock harness: it has cases, and no
// program of its own.
func isStock(root *os.Root) (bool, error) {
	if _, err := root.Lstat(MainFile); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	_, err := root.Lstat(cases.File)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func checkMain(root *os.Root, dir string) error {
	info, err := root.Lstat(MainFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeInvalid, dir, "the harness folder %s has neither %s, a program that grades, nor %s, tests for the stock harness", dir, MainFile, cases.File)
	case err != nil:
		return core.Wrap(err, core.CodeInvalid, dir, "%s of the harness folder %s cannot be read", MainFile, dir)
	case !info.Mode().IsRegular():
		return core.Errorf(core.CodeInvalid, dir, "%s of the harness folder %s is not a plain file", MainFile, dir)
	case info.Mode()&0o100 == 0:
		return core.Errorf(core.CodeInvalid, dir, "%s of the harness folder %s is not executable: chmod +x %s/%s", MainFile, dir, dir, MainFile)
	}
	return nil
}

func readConfig(root *os.Root, dir string) (Config, error) {
	file, err := root.Open(ConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, core.Wrap(err, core.CodeInvalid, dir, "%s of the harness folder %s cannot be read", ConfigFile, dir)
	}
	defer file.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(file, MaxConfigSize+1))
	if err != nil {
		return Config{}, core.Wrap(err, core.CodeInvalid, dir, "%s of the harness folder %s cannot be read", ConfigFile, dir)
	}
	if len(raw) > MaxConfigSize {
		return Config{}, core.Errorf(core.CodeLimit, dir, "%s/%s is longer than %d bytes", dir, ConfigFile, MaxConfigSize)
	}
	config, err := ParseConfig(raw)
	return config, core.Wrap(err, core.CodeInvalid, dir, "%s/%s", dir, ConfigFile)
}
