package harness

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"drover/core"
)

// Bounds on a harness folder.
const (
	MaxPackFiles  = 8_000
	MaxPackBytes  = 64 << 20
	MaxConfigSize = 32 << 10 // bytes of harness.json: it travels in each request's spec
)

// Package is a harness folder as a request carries it.
type Package struct {
	Tar    []byte // the same folder gives the same bytes
	Config Config
}

// Pack reads a harness folder. It returns an INVALID or LIMIT error that says how
// to mend the folder: main must be there and executable, harness.json must be
// right if it is there, and only plain files and folders may be in it.
func Pack(dir string) (Package, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeInvalid, dir, "the harness folder %s cannot be opened", dir)
	}
	defer root.Close() //nolint:errcheck // only read from
	if err := checkMain(root, dir); err != nil {
		return Package{}, err
	}
	config, err := readConfig(root, dir)
	if err != nil {
		return Package{}, err
	}
	p := packer{root: root, dir: dir}
	p.tar = tar.NewWriter(&p.out)
	if err := fs.WalkDir(root.FS(), ".", p.add); err != nil {
		return Package{}, foreign(err, dir)
	}
	if err := p.tar.Close(); err != nil {
		return Package{}, foreign(err, dir)
	}
	return Package{Tar: p.out.Bytes(), Config: config}, nil
}

func checkMain(root *os.Root, dir string) error {
	info, err := root.Lstat(MainFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeInvalid, dir, "the harness folder %s has no file named %s: it is the program that grades", dir, MainFile)
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

// packer collects a folder's files into a tar.
type packer struct {
	root  *os.Root
	dir   string
	out   bytes.Buffer
	tar   *tar.Writer
	files int
}

func (p *packer) add(path string, entry fs.DirEntry, err error) error {
	if err != nil || path == "." {
		return err
	}
	if p.files++; p.files > MaxPackFiles {
		return core.Errorf(core.CodeLimit, p.dir, "the harness folder %s has more than %d files", p.dir, MaxPackFiles)
	}
	if entry.IsDir() {
		return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: 0o755})
	}
	if !entry.Type().IsRegular() {
		return core.Errorf(core.CodeInvalid, p.dir,
			"%s/%s is neither a plain file nor a folder: put a copy of what it stands for in its place", p.dir, path)
	}
	file, err := p.root.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read from
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if int64(p.out.Len())+info.Size() > MaxPackBytes {
		return core.Errorf(core.CodeLimit, p.dir, "the harness folder %s is larger than %d bytes", p.dir, int64(MaxPackBytes))
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: mode, Size: info.Size()}); err != nil {
		return err
	}
	// Exactly as much as the header says: the file may be growing.
	_, err = io.CopyN(p.tar, file, info.Size())
	return err
}

// foreign gives the operating system's errors drover's form.
func foreign(err error, dir string) error {
	if core.CodeOf(err) != core.CodeInternal {
		return err
	}
	return core.Wrap(err, core.CodeInvalid, dir, "the harness folder %s cannot be read", dir)
}
