package judge0

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"drover/core"
)

// unpack stores the files of a zip, except a file with the name taken: like Judge0, it overwrites nothing. Returns
// INVALID or LIMIT for an invalid archive.
func (d *API) unpack(ctx context.Context, archive []byte, taken string, most int64) ([]core.File, error) {
	if len(archive) == 0 {
		return nil, nil
	}
	in, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "is not a zip archive")
	}
	var files []core.File
	for _, f := range in.File {
		if strings.HasSuffix(f.Name, "/") || f.Name == taken {
			continue
		}
		switch {
		case !fs.ValidPath(f.Name) || f.Name == folder || strings.HasPrefix(f.Name, folder+"/"):
			return nil, core.Errorf(core.CodeInvalid, "", "holds the path %.80q, which cannot be in the folder of the program", f.Name)
		case !f.Mode().IsRegular():
			return nil, core.Errorf(core.CodeInvalid, "", "holds %.80q, which is neither a file nor a folder", f.Name)
		case len(files) == core.MaxFiles-1:
			return nil, core.Errorf(core.CodeLimit, "", "holds too many files (maximum is %d)", core.MaxFiles-1)
		}
		stored, err := d.unpackOne(ctx, f, most)
		if err != nil {
			return nil, err
		}
		most -= stored.Size
		files = append(files, stored)
	}
	return files, nil
}

func (d *API) unpackOne(ctx context.Context, f *zip.File, most int64) (core.File, error) {
	content, err := f.Open()
	if err != nil {
		return core.File{}, core.Wrap(err, core.CodeInvalid, "", "holds %.80q, which cannot be read", f.Name)
	}
	defer content.Close() //nolint:errcheck // only read from
	from := &faulty{from: content}
	digest, size, err := d.requests.Blobs.Put(ctx, from, max(most, 1))
	switch {
	case from.err != nil:
		return core.File{}, core.Wrap(from.err, core.CodeInvalid, "", "holds %.80q, which cannot be read", f.Name)
	case core.Is(err, core.CodeLimit) || err == nil && size > most:
		return core.File{}, core.Errorf(core.CodeLimit, "", "is too large once it is unpacked")
	case err != nil:
		return core.File{}, err
	}
	return core.File{Path: f.Name, Digest: digest, Size: size, Mode: uint32(f.Mode().Perm()) | 0o400}, nil
}

// faulty records why reading failed, to distinguish that from a fault of the store.
type faulty struct {
	from io.Reader
	err  error
}

// Read reads.
func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
