package transfer

import (
	"io"
	"iter"
	"strings"

	"drover/core/blobs/archive"
	"drover/core/classes/portable"
	"drover/core/requests/intake"
)

// endings are those of archives to be unpacked.
var endings = []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"}

func isArchive(name string) bool { return stem(name) != "" }

// stem returns an archive's name without its ending; "" for other files.
func stem(name string) string {
	for _, end := range endings {
		if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
			return name[:n]
		}
	}
	return ""
}

// safe returns a path in the form of a submission's paths; false for files that are left out.
func safe(names *portable.Names, path string) (string, bool) {
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case archive.IsLitter(part):
			return "", false
		case part != "" && part != "." && part != "..":
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	return names.Safe(strings.Join(parts, "/")), true
}

// unpack yields the plain files of an archive, as archive.Files does. A top folder with the archive's name is
// removed, because most programs pack a folder that way.
func unpack(name string, from io.Reader, names *portable.Names) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for f, err := range archive.Files(name, from) {
			if err != nil {
				yield(intake.Upload{}, err)
				return
			}
			if f.Mode.IsDir() {
				continue
			}
			path, ok := safe(names, strings.TrimPrefix(f.Path, stem(name)+"/"))
			if !ok {
				continue
			}
			u := intake.Upload{Path: path, Content: f.Content}
			if f.Mode&0o111 != 0 {
				u.Mode = 0o755
			}
			if !yield(u, nil) {
				return
			}
		}
	}
}
