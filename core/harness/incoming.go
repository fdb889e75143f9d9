package harness

import (
	"io"

	"drover/core"
	"drover/core/blobs/nameless"
	"drover/core/blobs/pack"
)

// Incoming are the files of a harness that come one after the other, as streams. They are kept on disk if there is much
// of them.
type Incoming struct {
	files map[string]pack.File
	kept  *nameless.File
}

// NewIncoming is nothing yet.
func NewIncoming() *Incoming {
	return &Incoming{files: map[string]pack.File{}, kept: nameless.New("")}
}

// Add reads a file, or takes note of a folder if content is nil. Of two with the same path the last counts, as for tar.
// Returns LIMIT, and the reader's errors.
func (in *Incoming) Add(path string, run bool, content io.Reader) error {
	one := pack.File{Folder: content == nil, Run: run}
	start, most := in.kept.Size(), int64(MaxPackBytes)
	if content != nil {
		n, err := io.Copy(in.kept, io.LimitReader(content, most-start+1))
		if err != nil {
			return core.Wrap(err, core.CodeOr(err, core.CodeInvalid), path, "file %.80q cannot be read", path)
		}
		one.From = io.NewSectionReader(in.kept, start, n)
	}
	if in.kept.Size() > most || len(in.files) == MaxPackFiles {
		return core.Errorf(core.CodeLimit, "", "the harness has more than %d files and folders or %d MiB in it", MaxPackFiles, most>>20)
	}
	in.files[path] = one
	return nil
}

// Pack makes a harness of them, see PackFiles.
func (in *Incoming) Pack() (Package, error) { return PackFiles(in.files) }

// Empty reports whether there are none.
func (in *Incoming) Empty() bool { return len(in.files) == 0 }
