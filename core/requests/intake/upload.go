package intake

import (
	"context"
	"io"

	"drover/core"
)

// Part is the purpose of a file.
type Part string

// The purposes of files.
const (
	PartFile    Part = ""        // is in the command's folder, or is graded
	PartStdin   Part = "stdin"   // of a plain command
	PartHarness Part = "harness" // an archive of a harness's folder, in a form that harness.Read accepts
)

// Upload is a file that is being received. Its content must be read before the next one is requested.
type Upload struct {
	Part    Part
	Path    string // of a PartFile, in the form of core.File
	Mode    uint32 // permission bits; 0 means 0644
	Content io.Reader
}

// Keep stores an upload of at most room bytes. Returns LIMIT for a larger one.
func (u Upload) Keep(ctx context.Context, blobs core.Blobs, room int64) (core.File, error) {
	digest, size, err := blobs.Put(ctx, u.Content, max(room, 1)) // an empty file needs no room
	if core.Is(err, core.CodeLimit) || err == nil && size > room {
		return core.File{}, core.Errorf(core.CodeLimit, u.Path, "the files have too many bytes together: %d are left for %.80q", room, u.Path)
	}
	if err != nil {
		return core.File{}, core.Wrap(err, core.CodeOf(err), u.Path, "file %.80q cannot be stored", u.Path)
	}
	return core.File{Path: u.Path, Digest: digest, Size: size, Mode: u.Mode}, nil
}

// MaxIdempotency bounds users' idempotency keys; the stored key also has a prefix for its purpose.
const MaxIdempotency = 100
