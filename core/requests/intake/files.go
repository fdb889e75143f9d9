package intake

import (
	"context"
	"io/fs"
	"math"
	"path"
	"strings"
	"unicode"

	"drover/core"
	"drover/core/service/pattern"

	"golang.org/x/sync/errgroup"
)

// Bounds of a file's path, as Linux has them.
const (
	maxPath = 4095
	maxPart = 255
)

// Bounds of the paths to collect, which a VM's agent receives in one small message.
const (
	maxCollectBytes = 1536 // of all together
	maxCollectPath  = 512
	maxCollectDepth = 32
)

// blobsAtOnce is how many blobs are checked at a time.
const blobsAtOnce = 8

var digest = pattern.New(`^sha256:[0-9a-f]{64}$`)

// CheckFiles checks whether a request could have these files, which no request has yet; the id is what they belong to.
// Returns INVALID or LIMIT.
func CheckFiles(id string, files []core.File) error {
	return checkFiles(&core.Spec{ID: id, Files: files})
}

func checkFiles(s *core.Spec) error {
	if len(s.Files) > core.MaxFiles {
		return core.Errorf(core.CodeLimit, s.ID, "the request has %d files, at most %d are allowed: pack them into an archive", len(s.Files), core.MaxFiles)
	}
	paths := make(map[string]bool, len(s.Files))
	for i := range s.Files {
		f := &s.Files[i]
		if err := checkPath(s, f.Path); err != nil {
			return err
		}
		if paths[f.Path] {
			return invalid(s, "file %q is there twice", f.Path)
		}
		paths[f.Path] = true
		if err := checkContent(s, "file "+f.Path, f); err != nil {
			return err
		}
	}
	for p := range paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if paths[dir] {
				return invalid(s, "%q is a file, and a folder in %q", dir, p)
			}
		}
	}
	if s.Harness != nil {
		if err := checkContent(s, "the harness", s.Harness); err != nil {
			return err
		}
	}
	if s.Attachment != nil {
		if err := checkContent(s, "the attachment", s.Attachment); err != nil {
			return err
		}
	}
	if s.Stdin != nil {
		return checkContent(s, "stdin", s.Stdin)
	}
	return nil
}

// checkCollect checks the paths to collect.
func checkCollect(s *core.Spec) error {
	if len(s.Collect) > 0 && s.Harness != nil {
		return invalid(s, "a harness reports what it found: only files of a plain command are collected")
	}
	if len(s.Collect) > core.MaxCollect {
		return core.Errorf(core.CodeLimit, s.ID, "the request collects %d paths, at most %d are allowed: put the files into a folder", len(s.Collect), core.MaxCollect)
	}
	total := 0
	for _, p := range s.Collect {
		if err := checkPath(s, p); err != nil {
			return err
		}
		if len(p) > maxCollectPath || strings.Count(p, "/") >= maxCollectDepth {
			return core.Errorf(core.CodeLimit, s.ID, "the path to collect %.40q… has %d bytes, at most %d and %d folders deep are allowed",
				p, len(p), maxCollectPath, maxCollectDepth)
		}
		total += len(p)
	}
	if total > maxCollectBytes {
		return core.Errorf(core.CodeLimit, s.ID, "the paths to collect have %d bytes together, at most %d are allowed", total, maxCollectBytes)
	}
	return nil
}

func checkPath(s *core.Spec, p string) error {
	switch {
	case !fs.ValidPath(p) || p == ".":
		return invalid(s, "file path %q is not relative, clean and without ..", p)
	case strings.ContainsFunc(p, unicode.IsControl):
		return invalid(s, "file path %q holds a control character", p)
	case len(p) > maxPath:
		return core.Errorf(core.CodeLimit, s.ID, "a file path has %d bytes, at most %d are allowed", len(p), maxPath)
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > maxPart {
			return core.Errorf(core.CodeLimit, s.ID, "file name %q… has %d bytes, at most %d are allowed", part[:40], len(part), maxPart)
		}
	}
	return nil
}

func checkContent(s *core.Spec, name string, f *core.File) error {
	switch {
	case !digest().MatchString(f.Digest):
		return invalid(s, "%s has the digest %q, which is not of the form sha256:<64 hex digits>", name, f.Digest)
	case f.Size < 0:
		return invalid(s, "%s has the size %d", name, f.Size)
	case f.Mode&^0o777 != 0:
		return invalid(s, "%s has the mode %#o: only permission bits (at most 0777) are allowed", name, f.Mode)
	}
	return nil
}

// totalSize sums the sizes of all files to be staged.
func totalSize(s *core.Spec) int64 {
	var total int64
	for _, f := range blobs(s) {
		if total += f.Size; total < 0 {
			return math.MaxInt64
		}
	}
	return total
}

// blobs lists all files that a request stages into its VM, by names for people.
func blobs(s *core.Spec) []core.File {
	all := append([]core.File{}, s.Files...)
	for name, f := range map[string]*core.File{"the harness": s.Harness, "stdin": s.Stdin} {
		if f != nil {
			all = append(all, core.File{Path: name, Digest: f.Digest, Size: f.Size})
		}
	}
	return all
}

// checkBlobs returns an error if a file is not in the blob store, while its submitter can still be told.
func (in *Intake) checkBlobs(ctx context.Context, s *core.Spec) error {
	if in.Blobs == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(blobsAtOnce)
	seen := map[string]bool{}
	all := blobs(s)
	if s.Attachment != nil {
		all = append(all, core.File{Path: "the attachment", Digest: s.Attachment.Digest})
	}
	for _, f := range all {
		if seen[f.Digest] {
			continue
		}
		seen[f.Digest] = true
		group.Go(func() error {
			r, err := in.Blobs.Open(ctx, f.Digest)
			if core.Is(err, core.CodeNotFound) {
				return core.Errorf(core.CodeNotFound, f.Digest, "the content of %s (%s) is not in the blob store: store it, then submit", f.Path, f.Digest)
			}
			if err != nil {
				return err
			}
			return r.Close()
		})
	}
	return group.Wait()
}
