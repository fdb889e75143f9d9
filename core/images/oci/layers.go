package oci

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"drover/core"
	"drover/core/images"
	"drover/core/service/pattern"
)

// inspect reads all layers before they are merged: each must match the image's configuration, together they must stay
// within the limits, and no link may be lost.
func inspect(ctx context.Context, image v1.Image, limits images.Limits) error {
	config, err := image.ConfigFile()
	if err != nil {
		return damaged(err, "the configuration")
	}
	layers, err := image.Layers()
	if err != nil {
		return damaged(err, "the list of layers")
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return core.Errorf(core.CodeInvalid, "", "the container image has %d layers, and its configuration names %d: save it again", len(layers), len(config.RootFS.DiffIDs))
	}
	seen := &sight{ctx: ctx, limits: limits, rooted: map[bool]bool{}}
	for i, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return damaged(err, "a layer")
		}
		is, err := seen.layer(content)
		if err = errors.Join(err, content.Close()); err != nil {
			return damaged(err, "a layer")
		}
		if want := config.RootFS.DiffIDs[i]; want.Algorithm != "sha256" || want.Hex != is {
			return core.Errorf(core.CodeInvalid, want.String(), "layer %d of the container image is not the one that its configuration names, %s: save it again", i+1, want)
		}
	}
	return nil
}

// sight is what was seen of an image's layers.
type sight struct {
	ctx     context.Context // a loop over a stream has no other place for it
	limits  images.Limits
	entries int
	bytes   int64
	rooted  map[bool]bool // whether there are names with a leading slash, and without
}

// layer reads one layer and returns its content's digest, in hex.
func (s *sight) layer(content io.Reader) (string, error) {
	sum := sha256.New()
	content = io.TeeReader(content, sum)
	for from := tar.NewReader(content); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.entry(h)
		}
		if err != nil {
			return "", err
		}
	}
	_, err := io.Copy(sum, content) // padding
	return hex.EncodeToString(sum.Sum(nil)), err
}

// entry returns LIMIT or INVALID for an entry that an image cannot have.
func (s *sight) entry(h *tar.Header) error {
	s.entries++
	s.bytes += h.Size
	if name := path.Clean(h.Name); name != "." && name != "/" {
		s.rooted[path.IsAbs(name)] = true
	}
	switch {
	case s.ctx.Err() != nil:
		return core.Wrap(s.ctx.Err(), core.CodeUnavailable, "", "reading the layers was stopped")
	case s.entries > s.limits.Entries || s.bytes > s.limits.Bytes:
		return core.Errorf(core.CodeLimit, "", "the layers are too large: at most %d files, folders and links and %d bytes are allowed in all of them together", s.limits.Entries, s.limits.Bytes)
	case len(s.rooted) > 1: // package mutate would take /x and x for two files, and the order of unpacking would decide
		return core.Errorf(core.CodeInvalid, h.Name, "some names in the layers begin with / and some do not, and %q is where that shows: build the image so that all are of one kind", h.Name)
	case (h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink) && lost(path.Clean(h.Name), h.Linkname):
		return core.Errorf(core.CodeInvalid, h.Name, "the link %q in a layer leads out of the root, to %q", h.Name, h.Linkname)
	}
	return nil
}

// drive is how paths of another system begin.
var drive = pattern.New(`^[A-Za-z]:`)

// lost reports whether merging the layers would silently drop a link, as package mutate does if its target climbs out
// of the root or, on some systems, looks like it.
func lost(name, target string) bool {
	target = path.Clean(strings.ReplaceAll(target, `\`, "/"))
	if path.IsAbs(target) {
		return false
	}
	return drive().MatchString(target) || strings.HasPrefix(path.Join(path.Dir(name), target), "..")
}
