package source

import (
	"bytes"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"io"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Bounds on what is read of a file.
const (
	MaxText    = 1 << 20  // bytes of a text
	MaxPicture = 16 << 20 // bytes
	maxPixels  = 50_000_000
	sniffed    = 8 << 10 // bytes by which a binary file is known
)

// Kind is how a file can be shown.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Empty    Kind = "empty"
	Binary   Kind = "binary" // neither a text nor anything below
	Large    Kind = "large"  // a text or picture beyond the bounds
	Picture  Kind = "picture"
	PDF      Kind = "pdf"
	Notebook Kind = "notebook" // a text that is also a Jupyter notebook
)

// File is what is shown of a file.
type File struct {
	Kind Kind
	Type string // the media type of a picture or PDF, by its content
	Text string // UTF-8
	Old  bool   // the text was in ISO 8859-1
	Book *Book  // of a notebook
}

// Read reads a file as far as the bounds allow.
func Read(name string, size int64, from io.Reader) (File, error) {
	if size == 0 {
		return File{Kind: Empty}, nil
	}
	content, err := io.ReadAll(io.LimitReader(from, MaxText+1))
	if err != nil {
		return File{}, err
	}
	if kind := MediaType(content); kind != "" {
		return media(kind, size, content), nil
	}
	switch {
	case bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0:
		return File{Kind: Binary}, nil
	case len(content) > MaxText:
		return File{Kind: Large}, nil
	}
	f := File{Kind: Text, Text: strings.TrimPrefix(string(content), "\ufeff")}
	if !utf8.ValidString(f.Text) {
		if f.Text, err = charmap.ISO8859_1.NewDecoder().String(f.Text); err != nil {
			return File{Kind: Binary}, nil //nolint:nilerr // it is no text
		}
		f.Old = true
	}
	if strings.EqualFold(path.Ext(name), ".ipynb") {
		if f.Book = readBook(f.Text); f.Book != nil {
			f.Kind = Notebook
		}
	}
	return f, nil
}

// MediaType returns the media type of a picture or PDF by the beginning of its content; "" for all else. A type that a
// browser would run, such as SVG, is not among them.
func MediaType(head []byte) string {
	switch t := http.DetectContentType(head); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return t
	}
	return ""
}

func media(kind string, size int64, head []byte) File {
	if kind == "application/pdf" {
		return File{Kind: PDF, Type: kind}
	}
	// A small file can be a picture that fills a browser's memory.
	if c, _, err := image.DecodeConfig(bytes.NewReader(head)); size > MaxPicture || err == nil && c.Width*c.Height > maxPixels {
		return File{Kind: Large}
	}
	return File{Kind: Picture, Type: kind}
}
