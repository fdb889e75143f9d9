package harness

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"drover/core"
	"drover/core/blobs/archive"
	"drover/core/blobs/nameless"
	"drover/core/blobs/pack"
	"drover/core/harness/cases"
)

// TarFile is the name under which requests carry a harness.
const TarFile = "harness.tar"

// Read is Pack for a folder packed by any program, as a tar, compressed or not, or a zip, which is not trusted. The
// same folder gives the same bytes as with Pack; owners, times, order, litter and a single top folder are ignored.
// Returns INVALID or LIMIT.
func Read(packed io.Reader) (Package, error) {
	whole, err := nameless.Read(packed, MaxPackBytes, "")
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeOr(err, core.CodeInvalid), "", "the harness cannot be read")
	}
	if _, err := pack.Check(whole.Whole(), packLimits()); err == nil {
		return read(whole) // drover packed it
	}
	files, err := unpack(whole.Whole())
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness's archive cannot be used")
	}
	return files.Pack()
}

func packLimits() pack.Limits { return pack.Limits{Entries: MaxPackFiles, Bytes: MaxPackBytes} }

// unpack returns the files of an archive.
func unpack(packed io.Reader) (*Incoming, error) {
	in := NewIncoming()
	for f, err := range archive.Files("harness", packed) {
		if err != nil {
			return nil, err
		}
		name := path.Clean(f.Path)
		if name == "." {
			continue
		}
		if !fs.ValidPath(name) {
			return nil, core.Errorf(core.CodeInvalid, f.Path, "%.80q leads out of its folder: pack the folder with tar -C FOLDER -cf harness.tar .", f.Path)
		}
		if err := in.Add(name, f.Mode&0o111 != 0, f.Content); err != nil {
			return nil, err
		}
	}
	if in.Empty() {
		return nil, core.Errorf(core.CodeInvalid, "", "there is no file in it: pack the harness's folder with tar -C FOLDER -cf harness.tar .")
	}
	return in, nil
}

// read reads what Pack or PackFiles have packed.
func read(tar *nameless.File) (Package, error) {
	if tar.Size() > MaxPackBytes {
		return Package{}, core.Errorf(core.CodeLimit, "", "the harness makes more than %d MiB", MaxPackBytes>>20)
	}
	folder, err := cases.Index(tar, tar.Size())
	if err != nil {
		return Package{}, err
	}
	p := Package{Folder: folder, tar: tar}
	if p.Config, err = archivedConfig(folder); err != nil {
		return Package{}, err
	}
	_, program := folder.Size(MainFile)
	_, stock := folder.Size(cases.File)
	switch {
	case program && !folder.Executable(MainFile):
		return Package{}, core.Errorf(core.CodeInvalid, MainFile, "%s of the harness is not executable: chmod +x it before it is packed", MainFile)
	case program && tar.Size() > MaxProgramBytes:
		return Package{}, core.Errorf(core.CodeLimit, MainFile, "a harness with a program of its own has at most %d MiB, because VMs get the whole of it: only tests of a %s may be larger", MaxProgramBytes>>20, cases.File)
	case program:
		return p, nil
	case !stock:
		return Package{}, core.Errorf(core.CodeInvalid, MainFile, "the harness has neither %s, a program that grades, nor %s, tests for the stock harness", MainFile, cases.File)
	}
	p.Config.stock = true
	if p.Cases, err = folder.Plan(); err == nil {
		p.Problem, err = problemOf(folder)
	}
	return p, err
}

func archivedConfig(folder *cases.Archive) (Config, error) {
	r, size, err := folder.Open(ConfigFile)
	if core.Is(err, core.CodeNotFound) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	if size > MaxConfigSize {
		return Config{}, core.Errorf(core.CodeLimit, ConfigFile, "%s of the harness is longer than %d bytes", ConfigFile, MaxConfigSize)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return Config{}, core.Wrap(err, core.CodeInvalid, ConfigFile, "%s of the harness cannot be read", ConfigFile)
	}
	config, err := ParseConfig(raw)
	return config, core.Wrap(err, core.CodeInvalid, ConfigFile, "%s of the harness", ConfigFile)
}

// PackFiles is Pack for a folder in memory, by path. Its main is made executable, because archives of some systems do
// not record that. A single top folder is removed, because many programs add it. An autograder of Gradescope becomes a
// harness that runs it.
func PackFiles(files map[string]pack.File) (Package, error) {
	files = withAutograder(withoutTop(files))
	if main, ok := files[MainFile]; ok {
		main.Run = true
		files[MainFile] = main
	}
	tar := nameless.New("")
	if err := pack.Files(files, tar, packLimits()); err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness cannot be packed")
	}
	return read(tar)
}

// WithFile is the folder with one file changed or added; nothing else differs.
func (p *Package) WithFile(name string, content []byte) (Package, error) {
	in := NewIncoming()
	if p.tar != nil {
		var err error
		if in, err = unpack(p.Tar()); err != nil {
			return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness cannot be unpacked")
		}
	}
	in.files[name] = pack.File{Run: in.files[name].Run, Content: content}
	return in.Pack()
}

// File is a plain file of a harness folder.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Files lists the folder's plain files, in order of path, and returns the text of its cases.yaml; "" if it has none.
func (p *Package) Files() (all []File, text string, err error) {
	for _, name := range p.Folder.Names() {
		size, _ := p.Folder.Size(name)
		all = append(all, File{name, size})
	}
	if _, there := p.Folder.Size(cases.File); !there {
		return all, "", nil
	}
	raw, err := cases.Content{Path: cases.File}.Read(p.Folder, cases.MaxSize)
	return all, string(raw), err
}

// withoutTop removes the folder that contains all files, if there is one.
func withoutTop(files map[string]pack.File) map[string]pack.File {
	top := ""
	for name, f := range files {
		first, _, below := strings.Cut(name, "/")
		if !below && !f.Folder || top != "" && first != top {
			return files
		}
		top = first
	}
	out := make(map[string]pack.File, len(files))
	for name, f := range files {
		if _, rest, below := strings.Cut(name, "/"); below {
			out[rest] = f
		}
	}
	return out
}
