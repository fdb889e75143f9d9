package pack

import (
	"archive/tar"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"drover/core"
)

// File is a file, or a folder.
type File struct {
	Run     bool // whether it may be run
	Folder  bool // which may be empty; those of files need not be named
	Content []byte
	From    *io.SectionReader // in place of Content
}

func (f *File) size() int64 {
	if f.From != nil {
		return f.From.Size()
	}
	return int64(len(f.Content))
}

// writeTo writes the content.
func (f *File) writeTo(w io.Writer) error {
	if f.From != nil {
		_, err := io.Copy(w, io.NewSectionReader(f.From, 0, f.From.Size()))
		return err
	}
	_, err := w.Write(f.Content)
	return err
}

// Files is Folder for files by path. Returns INVALID for paths
// that no folder has, LIMIT beyond the limits.
func Files(files map[string]File, w io.Writer, limits Limits) error {
	folders := map[string]bool{}
	var bytes int64
	for name, f := range files {
		if name == "." || !fs.ValidPath(name) {
			return core.Errorf(core.CodeInvalid, name, "%q leads out of its folder or is not in its simplest form", name)
		}
		if f.Folder {
			folders[name] = true
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
		bytes += f.size()
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(folders))
	slices.Sort(names)
	names = slices.Compact(names)
	if err := limits.check(len(names), bytes); err != nil {
		return err
	}
	to := tar.NewWriter(sink{w})
	for _, name := range names {
		if f, known := files[name]; known && !f.Folder && folders[name] {
			return core.Errorf(core.CodeInvalid, name, "%q is a file and a folder at once", name)
		}
		if err := addFile(to, name, files[name], folders[name]); err != nil {
			return err
		}
	}
	return to.Close()
}

func addFile(to *tar.Writer, name string, f File, folder bool) error {
	if err := checkPath(name); err != nil {
		return err
	}
	if err := to.WriteHeader(header(name, folder, f.Run, f.size())); err != nil || folder {
		return unpacked(err, name)
	}
	return unpacked(f.writeTo(to), name)
}
