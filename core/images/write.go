package images

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"drover/core"
)

// Write writes the root file system's one file and says what it holds.
func (t *Tree) Write(ctx context.Context, w io.Writer) (s Summary, err error) {
	if s, err = t.summary(); err != nil {
		return s, err
	}
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return s, core.Wrap(err, core.CodeInternal, "", "the compression cannot begin")
	}
	err = t.writeTar(ctx, packed)
	err = errors.Join(err, packed.Close())
	var known *core.Error
	if err != nil && !errors.As(err, &known) {
		err = core.Wrap(err, core.CodeUnavailable, "", "the image cannot be written")
	}
	return s, err
}

func (t *Tree) writeTar(ctx context.Context, w io.Writer) error {
	to := tar.NewWriter(w)
	first := map[int64]string{} // where content lies → the first name of it
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if err := ctx.Err(); err != nil {
			return core.Wrap(err, core.CodeUnavailable, "", "writing the image was stopped")
		}
		e := t.entries[name]
		kind, link := e.kind, e.link
		if e.kind == tar.TypeReg && e.size > 0 {
			if already, ok := first[e.at]; ok {
				kind, link = tar.TypeLink, already
			} else {
				first[e.at] = name
			}
		}
		if err := to.WriteHeader(header(name, kind, e.run, e.time, e.size, link)); err != nil {
			return err
		}
		if kind != tar.TypeReg {
			continue
		}
		if _, err := io.Copy(to, io.NewSectionReader(t.spool, e.at, e.size)); err != nil {
			return err
		}
	}
	return to.Close()
}

// header is the one header that an entry can have.
func header(name string, kind byte, run bool, at, size int64, link string) *tar.Header {
	h := &tar.Header{Name: name, Typeflag: kind, ModTime: time.Unix(at, 0)}
	switch kind {
	case tar.TypeDir:
		h.Name, h.Mode = name+"/", modeFolder
	case tar.TypeSymlink:
		h.Mode, h.Linkname = modeLink, link
	case tar.TypeLink:
		h.Mode, h.Linkname = modeFile, link
	default:
		h.Mode, h.Size = modeFile, size
		if run {
			h.Mode = modeRun
		}
	}
	return h
}
