// Package blobstore keeps files by their content hash, on gocloud.dev/blob: what
// was put under a digest is what comes back, or an error.
//
// A file lies under "sha256/ab/cd/<64 hex digits>", so that no folder gets large.
// It appears there whole or not at all. The same content put again is written
// again, which mends a damaged copy and makes its age new: whoever deletes old
// files that nothing names spares what somebody is just about to name.
//
// Cache keeps the files of a store that a host needs often on its own disk. The
// folder pack makes one deterministic file of a folder.
package blobstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"drover/core"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

// openers open a store by its URL's scheme, given what follows "://". A service
// that gocloud.dev knows is one import and one line here.
var openers = map[string]func(ctx context.Context, rest string) (*Store, error){
	"file": openFile,
	"mem":  openMem,
}

// Schemes lists the URLs that Open knows, as examples for people.
func Schemes() []string { return []string{"file://PATH", "mem://"} }

// Open opens the store that a URL names: "file://PATH", a folder, absolute or
// relative to the working folder, made (mode 0700) if only its last part is
// missing; or "mem://", one of its own that ends with the program. Returns
// INVALID for another URL, UNAVAILABLE if the store cannot be used.
func Open(ctx context.Context, url string) (core.Blobs, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	open := openers[scheme]
	if !ok || open == nil {
		// The URL itself is not repeated: it may hold a password.
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
	return &Store{bucket: memblob.OpenBucket(nil), spool: os.TempDir()}, nil
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
	bucket, err := fileblob.OpenBucket(root, &fileblob.Options{
		NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700,
	})
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, root, "blob store %s cannot be opened", root)
	}
	return &Store{bucket: bucket, spool: root, disk: &disk{root: root, known: map[string]bool{}}}, nil
}

// makeRoot makes the folder for its owner alone if it is missing.
func makeRoot(root string) error {
	err := os.Mkdir(root, 0o700)
	switch {
	case err == nil:
		return core.Wrap(syncDir(filepath.Dir(root)), core.CodeUnavailable, root, "blob store %s cannot be made durable", root)
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeInvalid, root, "the folder above blob store %s does not exist: make it, or name another path", root)
	}
	return core.Wrap(err, core.CodeUnavailable, root, "blob store %s cannot be made", root)
}
