package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"drover/core"
)

//go:embed static/*
var staticFiles embed.FS

// sheetFiles are the parts of the one style sheet, each about one kind of thing: base.css comes first, print.css last.
//
//go:embed sheets/*.css
var sheetFiles embed.FS

// staticPrefix begins the paths of static files. Their names have a hash of their content, so that browsers cache
// them permanently.
const staticPrefix = "/static/"

// static serves them.
type static struct {
	names   map[string]string // drover.css → drover.0123456789ab.css
	content map[string][]byte // by the name with the hash
}

func readStatic() (*static, error) {
	s := &static{names: make(map[string]string), content: make(map[string][]byte)}
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "the static files cannot be read")
	}
	for _, f := range files {
		content, err := fs.ReadFile(staticFiles, path.Join("static", f.Name()))
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, f.Name(), "the static file %s cannot be read", f.Name())
		}
		s.add(f.Name(), content)
	}
	sheet, err := readSheet()
	if err != nil {
		return nil, err
	}
	s.add("drover.css", sheet)
	return s, nil
}

func (s *static) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	s.names[name], s.content[hashed] = hashed, content
}

// readSheet joins the parts of the style sheet: a browser asks for one file.
func readSheet() ([]byte, error) {
	names, err := fs.Glob(sheetFiles, "sheets/*.css")
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "the style sheets cannot be listed")
	}
	rank := map[string]int{"sheets/base.css": -1, "sheets/print.css": 1}
	slices.SortStableFunc(names, func(a, b string) int { return rank[a] - rank[b] })
	var sheet []byte
	for _, name := range names {
		part, err := sheetFiles.ReadFile(name)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, name, "the style sheet %s cannot be read", name)
		}
		sheet = append(sheet, part...)
	}
	return sheet, nil
}

// url returns the path of a static file.
func (s *static) url(name string) (string, error) {
	hashed, ok := s.names[name]
	if !ok {
		return "", core.Errorf(core.CodeInternal, name, "there is no static file %s", name)
	}
	return staticPrefix + hashed, nil
}

// ServeHTTP implements http.Handler.
func (s *static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := s.content[strings.TrimPrefix(r.URL.Path, staticPrefix)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
}
