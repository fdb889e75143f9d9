// Package blobs keeps files by their content hash, in a folder or on S3: what was put under
// a digest is what comes back, or an error.
//
// A file is at "sha256/ab/cd/<64 hex digits>", so that no folder gets large. It appears
// there atomically. Putting the same content again writes it again, which replaces a
// damaged copy and renews its age.
//
// # Purging
//
// A purge decides by what it has read: which files are old, and which are named by no row.
// Between reading and deleting, somebody may put such a file again, and no service can
// delete a file on the condition that it is still the one that was read. So a purge never
// deletes content from where Put writes it. It moves it to
// "leaving/ab/<digits>.<when>.<once>": by one rename in a folder, elsewhere by a copy and
// then a deletion. At every moment the content is in one place or the other, and Open looks
// in both. A later purge looks at the moved files: it restores those that a row names by
// now, and deletes those that were moved longer than the grace period ago and that no row
// names. Why that loses nothing:
//
//   - A Put during the first step leaves the content in its place, in the copy, or in
//     both. Its request is durable long before the copy is old, so each purge that may
//     delete the copy has read the request's row, and restores the copy.
//   - A Put after the first step writes the original, which the second step never
//     touches.
//   - Every move has its own name. A purge deletes only files that it has itself seen to
//     be old, so one that slept for days before its next call deletes nothing that
//     another purge has moved since.
//   - A purge that slept between copy and deletion does not delete any more: it has half
//     the grace period for both, and the copy is safe for all of it.
//   - If a purge is killed between the two, the content is there twice. The next purge
//     deletes the copy if the file is in its place, and otherwise decides about it as
//     usual. An incomplete copy has no name, like an incomplete Put.
//
// So the grace period must be at least twice the longest time from a Put to its request's
// row, and a file is deleted two grace periods after it was last stored.
//
// # Clocks and services
//
// The age of a file in its place is by the service's clock, on S3 in whole seconds. It need
// not be accurate: a file that only looks old is trashed, can be opened there, and is
// restored as soon as a purge finds it named. That costs a move; a service whose clock is
// ahead costs time. Content is deleted by the time in the name of the trashed file, which
// the purging hosts write and compare by their own clocks, in ms. These may differ by what
// the grace period exceeds twice the time from a Put to its row: of a day, that is hours.
//
// Whatever was written, copied and deleted must be visible to all clients at once, also in
// lists. S3 guarantees that, and a replacement must too; a cache in front of it does not.
// The service must not carry out a deletion later than half a grace period after the
// request.
//
// A file of more than 16 MiB goes to a service in parts. It gets its name only when the
// writer completes it. A killed writer leaves parts that are in no list but take room: a
// rule of the bucket should delete them after a day.
//
// # Identity
//
// Each store has an id, under the key "id". The first caller makes it, by a write that
// succeeds only if there is none. It moves with the files, and distinguishes stores whose
// URLs are the same.
//
// Cache keeps the files of a store that a host needs often on its own disk. The
// folder pack makes one deterministic file of a folder.
package blobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"drover/core"
)

// openers open a store by its URL's scheme, given what follows "://".
var openers = map[string]func(ctx context.Context, rest string) (*Store, error){
	"file": openFile,
	"mem":  openMem,
	"s3":   openS3,
}

// InMemory is the URL of a new store that ends with the program.
const InMemory = "mem://"

// Schemes lists the URLs that Open knows, as examples for people.
func Schemes() []string {
	return []string{"file://PATH", "s3://BUCKET?region=REGION", InMemory}
}

// Open opens the store that a URL names: "file://PATH", a folder, absolute or relative to the working folder, created
// (mode 0700) if only its last part is missing; "s3://BUCKET/FOLDER?region=REGION&endpoint=URL&use_path_style=true"
// (only the bucket is required), whose credentials come from the environment or the files of the AWS tools and are
// not tried here; or "mem://", a new one that ends with the program. Returns INVALID for another URL, UNAVAILABLE if
// the store cannot be used.
func Open(ctx context.Context, url string) (core.Blobs, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	open := openers[scheme]
	if !ok || open == nil {
		// The URL itself is not quoted: it may hold a password.
		return nil, core.Errorf(core.CodeInvalid, "", "this blob store URL is not known: write %s", strings.Join(Schemes(), ", "))
	}
	s, err := open(ctx, rest)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openMem(_ context.Context, rest string) (*Store, error) {
	if rest != "" {
		return nil, core.Errorf(core.CodeInvalid, rest, "a blob store in memory has no name: write mem://")
	}
	return &Store{bucket: &memory{files: map[string]held{}}, spool: os.TempDir()}, nil
}

func openFile(_ context.Context, path string) (*Store, error) {
	if path == "" || strings.ContainsAny(path, "?#\x00") {
		return nil, core.Errorf(core.CodeInvalid, path, "a blob store is named by a path without ? and #: file://PATH")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, path, "path %s of the blob store has no absolute form", path)
	}
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	return &Store{bucket: &disk{root: root, known: map[string]bool{}}, spool: root}, nil
}

// makeRoot makes the folder, accessible to its owner only, if it is missing.
func makeRoot(root string) error {
	err := os.Mkdir(root, 0o700)
	switch {
	case err == nil:
		return core.Wrap(syncDir(filepath.Dir(root)), core.CodeUnavailable, root, "blob store %s cannot be made durable", root)
	case errors.Is(err, fs.ErrExist):
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return core.Errorf(core.CodeUnavailable, root, "blob store %s is no folder", root)
		}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeInvalid, root, "the folder above blob store %s does not exist: make it, or name another path", root)
	}
	return core.Wrap(err, core.CodeUnavailable, root, "blob store %s cannot be made", root)
}
