package access

import (
	"context"
	"errors"

	"drover/core"
)

// mostFiles is how many files FindMissingFiles looks for.
const mostFiles = 500

var errEnough = errors.New("these are enough")

// FindMissingFiles looks for files that the result store names, first for those of unfinished requests. Returns the digests
// of those that the blob store does not have, and how many it looked for.
func (h *Cluster) FindMissingFiles(ctx context.Context) (missing []string, looked int, err error) {
	seen := map[string]bool{}
	look := func(digest string) error {
		switch {
		case digest == "" || seen[digest]:
			return nil
		case len(seen) == mostFiles:
			return errEnough
		}
		seen[digest] = true
		file, err := h.Blobs.Open(ctx, digest)
		if core.Is(err, core.CodeNotFound) {
			missing = append(missing, digest)
			return nil
		}
		if err != nil {
			return err
		}
		return file.Close()
	}
	err = h.lookForUnfinished(ctx, look)
	if err == nil {
		err = h.Store.Digests(ctx, look)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return missing, len(seen), err
}

func (h *Cluster) lookForUnfinished(ctx context.Context, look func(digest string) error) error {
	specs, err := h.Store.Unfinished(ctx, "", mostFiles)
	if err != nil {
		return err
	}
	for i := range specs {
		files := specs[i].Files
		if specs[i].Harness != nil {
			files = append(files[:len(files):len(files)], core.File{Digest: specs[i].Harness.Digest})
		}
		for _, file := range files {
			if err := look(file.Digest); err != nil {
				return err
			}
		}
	}
	return nil
}
