package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"drover/core"
)

//go:embed static/*
var staticFiles embed.FS

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
		sum := sha256.Sum256(content)
		ext := path.Ext(f.Name())
		hashed := strings.TrimSuffix(f.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		s.names[f.Name()], s.content[hashed] = hashed, content
	}
	return s, nil
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
