package core

import (
	"context"
	"strings"
	"unicode/utf8"
)

// Image is a root file system from which VMs are made: one file in the blob store, named by its content. Package
// core/images describes the file.
type Image struct {
	Name    string `json:"name"`
	Digest  string `json:"digest"`  // of the file in the blob store, "sha256:…"
	Size    int64  `json:"size"`    // of that file, bytes
	Files   int    `json:"files"`   // files, folders and links in it
	Bytes   int64  `json:"bytes"`   // of its files when unpacked on a host's disk
	Source  string `json:"source"`  // how it was made, for people
	Created int64  `json:"created"` // ms since 1970

	Languages []ImageLanguage `json:"languages,omitempty"` // that it says it has, as its builder found them
}

// ImageLanguage is a programming language of an image.
type ImageLanguage struct {
	Code    string `json:"code"` // of the table in core/harness/languages
	Name    string `json:"name"`
	Version string `json:"version"`
}

// maxImageLanguages is how many languages an image may have.
const maxImageLanguages = 200

// MaxSource is the longest Source of an image, in bytes.
const MaxSource = 1 << 10

// Ref names exactly this image, in the form that a pool may use: "name@sha256:…".
func (i Image) Ref() string { return i.Name + "@" + i.Digest }

// Check returns an INVALID error that names the first invalid field.
func (i Image) Check() error {
	if _, _, err := ParseImageRef(i.Ref()); err != nil {
		return err
	}
	switch {
	case i.Size < 1 || i.Files < 0 || i.Bytes < 0:
		return Errorf(CodeInvalid, i.Name, "image %s: a size of %d, %d files and %d bytes cannot be", i.Name, i.Size, i.Files, i.Bytes)
	case len(i.Source) > MaxSource || !utf8.ValidString(i.Source):
		return Errorf(CodeInvalid, i.Name, "image %s: its source must be at most %d bytes of UTF-8", i.Name, MaxSource)
	case len(i.Languages) > maxImageLanguages:
		return Errorf(CodeInvalid, i.Name, "image %s: %d languages are more than %d", i.Name, len(i.Languages), maxImageLanguages)
	}
	return nil
}

// ParseImageRef splits a reference to an image: "name" for the newest of that name (digest is ""), or "name@sha256:…"
// for one of them. Returns INVALID.
func ParseImageRef(ref string) (name, digest string, err error) {
	name, digest, exact := strings.Cut(ref, "@")
	if err := CheckName("image", name); err != nil {
		return "", "", err
	}
	if digits, ok := strings.CutPrefix(digest, "sha256:"); exact && (!ok || !hexDigits(digits, 64)) {
		return "", "", Errorf(CodeInvalid, name, "%.80q is not a digest of image %s: it has the form sha256: and 64 hex digits", digest, name)
	}
	return name, digest, nil
}

func hexDigits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// Images keeps the list of images; their files are in the blob store.
type Images interface {
	// PutImage makes an image the newest of its name, also if it was stored before. Returns INVALID for an invalid
	// image, LIMIT if there are too many.
	PutImage(ctx context.Context, image Image) error
	// GetImage returns the newest image of a name, or exactly "name@sha256:…".
	// Returns NOTFOUND.
	GetImage(ctx context.Context, ref string) (Image, error)
	// ListImages lists all images by name, each name's newest first.
	ListImages(ctx context.Context) ([]Image, error)
	// DeleteImage removes all images of a name, or exactly "name@sha256:…". A later purge removes the files that
	// nothing refers to. Returns NOTFOUND.
	DeleteImage(ctx context.Context, ref string) error
}
