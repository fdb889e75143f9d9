// Package oci reads the root file system of a container image that was saved to a file or folder: an OCI layout, a
// tar of one, or the output of docker save and podman save. It neither runs nor fetches anything.
package oci

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"drover/core"
	"drover/core/images"
	"drover/core/service/pattern"
)

// Open opens the root file system in a file or folder as a tar: of a container image with its layers merged, or of a
// tar of the system itself, compressed in any way. What describes for people what was found. Temporary files are in
// the folder temp ("" is the system's) and are removed by Close. Returns NOTFOUND, INVALID for another format or
// several images, LIMIT.
func Open(ctx context.Context, file, temp string, limits images.Limits) (system io.ReadCloser, what string, err error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", core.Errorf(core.CodeNotFound, file, "there is no file %s", file)
	case err != nil:
		return nil, "", core.Wrap(err, core.CodeInvalid, file, "%s cannot be read", file)
	case info.IsDir():
		system, err = openLayout(ctx, file, limits)
		return system, "OCI layout", err
	case !info.Mode().IsRegular():
		return nil, "", core.Errorf(core.CodeInvalid, file, "%s is neither a file nor a folder", file)
	}
	inside, err := look(file)
	switch {
	case err != nil:
		return nil, "", err
	case inside["manifest.json"]:
		system, err = openSaved(ctx, file, limits)
		return system, "container image", err
	case inside["oci-layout"]:
		system, err = openPacked(ctx, file, temp, limits)
		return system, "OCI image", err
	}
	system, err = plain(file)
	return system, "root file system", err
}

// imageName is what entries of saved container images are called: there is
// nothing else in one.
var imageName = pattern.New(`^(blobs(/sha256(/[0-9a-f]{64})?)?|index\.json|oci-layout|manifest\.json|repositories|(sha256:)?[0-9a-f]{64}(\.json|\.tar(\.gz)?|/(VERSION|json|layer\.tar))?)$`)

// look returns the entries of a saved container image; none for any other archive.
func look(file string) (inside map[string]bool, err error) {
	r, err := plain(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	inside = map[string]bool{}
	const most = 10_000 // an image has at most some hundred layers
	for from := tar.NewReader(r); len(inside) < most; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return inside, nil
		}
		if err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, file, "%s is no archive of a root file system or container image", file)
		}
		name := path.Clean(h.Name)
		if name != "." && !imageName().MatchString(name) {
			return nil, nil
		}
		inside[name] = true
	}
	return nil, nil
}

// stream is a tar that comes through others.
type stream struct {
	io.Reader
	closers []func() error
}

// Close closes all of them.
func (s *stream) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// plain opens a file, decompressed.
func plain(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, file, "%s cannot be opened", file)
	}
	r, err := images.Decompress(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stream{r, []func() error{r.Close, f.Close}}, nil
}

// openSaved opens what docker save wrote.
func openSaved(ctx context.Context, file string, limits images.Limits) (io.ReadCloser, error) {
	image, err := tarball.Image(func() (io.ReadCloser, error) { return plain(file) }, nil)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, file, "%s cannot be read as one container image: save a single one", file)
	}
	if err = runsHere(image); err == nil {
		err = inspect(ctx, image, limits)
	}
	if err != nil {
		return nil, err
	}
	return mutate.Extract(image), nil
}

// openPacked opens the tar of an OCI layout.
func openPacked(ctx context.Context, file, temp string, limits images.Limits) (_ io.ReadCloser, err error) {
	dir, err := os.MkdirTemp(temp, "drover-oci-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, temp, "there is no room to unpack %s: name another folder in TMPDIR", file)
	}
	remove := func() error {
		return core.Wrap(os.RemoveAll(dir), core.CodeUnavailable, dir, "%s cannot be removed", dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	if err := unpack(ctx, file, dir, limits); err != nil {
		return nil, err
	}
	system, err := openLayout(ctx, dir, limits)
	if err != nil {
		return nil, err
	}
	return &stream{system, []func() error{system.Close, remove}}, nil
}

// unpack writes the files of a layout's tar, all of whose names look has seen.
func unpack(ctx context.Context, file, dir string, limits images.Limits) (err error) {
	r, err := plain(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, dir, "%s cannot be used", dir)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	left := limits.Packed
	for from := tar.NewReader(r); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return core.Wrap(err, core.CodeInvalid, file, "%s cannot be read", file)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if left -= h.Size; left < 0 {
			return core.Errorf(core.CodeLimit, file, "%s has layers of more than %d bytes", file, limits.Packed)
		}
		if err := keep(ctx, root, path.Clean(h.Name), from); err != nil {
			return core.Wrap(err, core.CodeUnavailable, file, "%s cannot be unpacked to %s", file, dir)
		}
	}
}

// keep writes one file; of two with one name the later stays.
func keep(ctx context.Context, root *os.Root, name string, content io.Reader) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(f, content)
	return err
}

// openLayout opens the one image of a layout that this machine can run.
func openLayout(ctx context.Context, dir string, limits images.Limits) (io.ReadCloser, error) {
	if _, err := os.Lstat(filepath.Join(dir, "oci-layout")); err != nil {
		return nil, core.Errorf(core.CodeInvalid, dir, "folder %s is no OCI layout: to import the folder of a root file system, make a tar of it", dir)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, dir, "the OCI layout %s cannot be read", dir)
	}
	image, err := choose(index, 0)
	if err != nil {
		return nil, err
	}
	if err = errors.Join(verify(image), runsHere(image)); err == nil {
		err = inspect(ctx, image, limits)
	}
	if err != nil {
		return nil, err
	}
	return mutate.Extract(image), nil
}

// maxNested is how deep indexes may lie in one another.
const maxNested = 4

// choose finds the one image for this machine in an index.
func choose(index v1.ImageIndex, depth int) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "the index of the OCI layout cannot be read")
	}
	if depth > maxNested {
		return nil, core.Errorf(core.CodeInvalid, "", "the OCI layout has an index in an index more than %d deep", maxNested)
	}
	var fits []v1.Descriptor
	for _, d := range manifest.Manifests {
		p := d.Platform
		if p == nil || p.OS == "linux" && p.Architecture == runtime.GOARCH {
			fits = append(fits, d)
		}
	}
	if len(fits) != 1 {
		return nil, core.Errorf(core.CodeInvalid, "", "the OCI layout has %d images for linux/%s: it must have one", len(fits), runtime.GOARCH)
	}
	if !fits[0].MediaType.IsIndex() {
		image, err := index.Image(fits[0].Digest)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInvalid, "", "the image of the OCI layout cannot be read")
		}
		if got, err := image.Digest(); err != nil || got != fits[0].Digest {
			return nil, damaged(err, "the manifest")
		}
		return image, nil
	}
	inner, err := index.ImageIndex(fits[0].Digest)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "the index of the OCI layout cannot be read")
	}
	return choose(inner, depth+1)
}

// verify compares what a layout's manifest names with its digest, but for the
// layers: see inspect.
func verify(image v1.Image) error {
	manifest, err := image.Manifest()
	if err != nil {
		return damaged(err, "the manifest")
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return damaged(err, "the configuration")
	}
	if ok, err := has(bytes.NewReader(config), manifest.Config.Digest); err != nil || !ok {
		return damaged(err, "the configuration")
	}
	return nil
}

// runsHere refuses an image that says to be for other machines: the index of a
// layout of one image need not say so.
func runsHere(image v1.Image) error {
	config, err := image.ConfigFile()
	if err != nil {
		return damaged(err, "the configuration")
	}
	if os, arch := cmp.Or(config.OS, "linux"), cmp.Or(config.Architecture, runtime.GOARCH); os != "linux" || arch != runtime.GOARCH {
		return core.Errorf(core.CodeInvalid, "", "the image is for %s/%s, and this machine is linux/%s: save the one for that", os, arch, runtime.GOARCH)
	}
	return nil
}

// damaged returns an error for a part that is unreadable or, with a nil err, does not match its digest.
func damaged(err error, what string) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	if err == nil {
		return core.Errorf(core.CodeInvalid, "", "%s of the OCI image is damaged: save it again", what)
	}
	return core.Wrap(err, core.CodeInvalid, "", "%s of the OCI image cannot be read", what)
}

// has reports whether a stream has the digest.
func has(r io.Reader, want v1.Hash) (bool, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return want.Algorithm == "sha256" && want.Hex == hex.EncodeToString(sum.Sum(nil)), err
}
