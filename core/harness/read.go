package harness

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"strings"

	"drover/core"
	"drover/core/blobs/archive"
	"drover/core/blobs/pack"
	"drover/core/harness/cases"
)

// TarFile is the name under which requests carry a harness.
const TarFile = "harness.tar"

// Read is Pack for a folder packed by any program, as a tar, compressed or not, or a zip, which is not trusted. The
// same folder gives the same bytes as with Pack; owners, times, order, litter and a single top folder are ignored.
// Returns INVALID or LIMIT.
func Read(packed []byte) (Package, error) {
	if len(packed) > MaxPackBytes {
		return Package{}, core.Errorf(core.CodeLimit, "", "the harness has more than %d bytes", int64(MaxPackBytes))
	}
	if _, err := pack.Check(bytes.NewReader(packed), packLimits()); err == nil {
		return read(packed) // drover packed it
	}
	files, err := unpack(packed)
	if err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness's archive cannot be used")
	}
	return PackFiles(files)
}

func packLimits() pack.Limits { return pack.Limits{Entries: MaxPackFiles, Bytes: MaxPackBytes} }

// unpack returns the files of an archive, by path. Of two with the same path the last counts, as for tar.
func unpack(packed []byte) (map[string]pack.File, error) {
	files, room := map[string]pack.File{}, int64(MaxPackBytes)
	for f, err := range archive.Files("harness", bytes.NewReader(packed)) {
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
		one := pack.File{Folder: f.Mode.IsDir(), Run: f.Mode&0o111 != 0}
		if !one.Folder {
			if one.Content, err = io.ReadAll(io.LimitReader(f.Content, room+1)); err != nil {
				return nil, core.Wrap(err, core.CodeOf(err), f.Path, "%.80q cannot be read", f.Path)
			}
		}
		if room -= int64(len(one.Content)); room < 0 || len(files) == MaxPackFiles {
			return nil, core.Errorf(core.CodeLimit, "", "it has more than %d files and folders or %d MiB in it", MaxPackFiles, MaxPackBytes>>20)
		}
		files[name] = one
	}
	if len(files) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "", "there is no file in it: pack the harness's folder with tar -C FOLDER -cf harness.tar .")
	}
	return files, nil
}

// read reads what Pack or PackFiles have packed.
func read(tar []byte) (Package, error) {
	folder, err := cases.Index(bytes.NewReader(tar), int64(len(tar)))
	if err != nil {
		return Package{}, err
	}
	p := Package{Tar: tar}
	if p.Config, err = archivedConfig(folder); err != nil {
		return Package{}, err
	}
	_, program := folder.Size(MainFile)
	_, stock := folder.Size(cases.File)
	switch {
	case program && !folder.Executable(MainFile):
		return Package{}, core.Errorf(core.CodeInvalid, MainFile, "%s of the harness is not executable: chmod +x it before it is packed", MainFile)
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
	var tar bytes.Buffer
	if err := pack.Files(files, &tar, packLimits()); err != nil {
		return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness cannot be packed")
	}
	if tar.Len() > MaxPackBytes {
		return Package{}, core.Errorf(core.CodeLimit, "", "the harness makes more than %d bytes", int64(MaxPackBytes))
	}
	return read(tar.Bytes())
}

// WithFile is the folder with one file changed or added; nothing else differs.
func (p *Package) WithFile(name string, content []byte) (Package, error) {
	files := map[string]pack.File{}
	if p.Tar != nil {
		var err error
		if files, err = unpack(p.Tar); err != nil {
			return Package{}, core.Wrap(err, core.CodeOf(err), "", "the harness cannot be unpacked")
		}
	}
	files[name] = pack.File{Run: files[name].Run, Content: content}
	return PackFiles(files)
}

// File is a plain file of a harness folder.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Files lists the folder's plain files, in order of path, and returns the text of its cases.yaml; "" if it has none.
func (p *Package) Files() (all []File, text string, err error) {
	folder, err := cases.Index(bytes.NewReader(p.Tar), int64(len(p.Tar)))
	if err != nil {
		return nil, "", err
	}
	for _, name := range folder.Names() {
		size, _ := folder.Size(name)
		all = append(all, File{name, size})
	}
	if _, there := folder.Size(cases.File); !there {
		return all, "", nil
	}
	raw, err := cases.Content{Path: cases.File}.Read(folder, cases.MaxSize)
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
