package page

import (
	"embed"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"

	"drover/core"
)

//go:embed pages/*.html
var ownPages embed.FS

// parts are the templates that all pages of a section may name.
const parts = "pages/_*.html"

// templates are all pages in one language.
type templates struct {
	pages map[string]*template.Template
}

func (t *templates) execute(w io.Writer, name string, v view) error {
	page, ok := t.pages[name]
	if !ok {
		return core.Errorf(core.CodeInternal, name, "there is no page %s", name)
	}
	return page.ExecuteTemplate(w, "layout", v)
}

// parse parses all pages for one language. Each is parsed together with the layout, the parts of the site and those
// of its section.
func (s *Site) parse(speech Speech, sections []Section) (*templates, error) {
	base, err := template.New("").Option("missingkey=zero").Funcs(s.functions(speech)).ParseFS(ownPages, parts)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "the layout cannot be read")
	}
	all := &templates{pages: make(map[string]*template.Template)}
	for _, section := range append([]Section{{Pages: ownPages}}, sections...) {
		pages, err := parseSection(base, section)
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, section.Name, "the pages of section %q cannot be read", section.Name)
		}
		maps.Copy(all.pages, pages)
	}
	return all, nil
}

func parseSection(base *template.Template, section Section) (map[string]*template.Template, error) {
	with, err := base.Clone()
	if err != nil {
		return nil, err
	}
	if found, err := fs.Glob(section.Pages, parts); err != nil || len(found) > 0 {
		if with, err = with.ParseFS(section.Pages, parts); err != nil {
			return nil, err
		}
	}
	files, err := fs.Glob(section.Pages, "pages/*.html")
	if err != nil {
		return nil, err
	}
	pages := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if strings.HasPrefix(name, "_") {
			continue
		}
		page, err := with.Clone()
		if err == nil {
			page, err = page.ParseFS(section.Pages, file)
		}
		if err != nil {
			return nil, err
		}
		pages[path.Join(section.Name, name)] = page
	}
	return pages, nil
}
