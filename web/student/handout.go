package student

import (
	"cmp"
	"html/template"
	"net/url"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"drover/core/classes"
	"drover/core/harness/handout"
	"drover/web/page"
	"drover/web/transfer"
)

// shownHandout is what an assignment's harness has for students.
type shownHandout struct {
	Text      template.HTML
	Tag       string          // the language of Text; "" if its file does not say
	Others    []statementLink // in other languages
	Files     []statementLink // to be opened
	Samples   []shownSample
	Zip       string        // of all samples
	Downloads []handoutFile // attachments
}

// statementLink leads to a statement in another language or form.
type statementLink struct {
	Tag, Name string
	URL       string
	Size      int64
}

type handoutFile struct {
	Name, URL string
	Size      int64
}

type shownSample struct {
	handout.Sample
	Parts []samplePart
}

// samplePart is a file of a sample.
type samplePart struct {
	handout.Part
	ID    string // of its text, for the button that copies it
	Title string
	Talk  []handout.Interaction // of a conversation
	URL   string
}

// readHandout reads what is shown of an assignment's handout; nil for nothing. The statement is in the language that the
// address asks for, or else in the reader's, in English, or in the first there is.
func (d *student) readHandout(r *page.Request, is classes.AssignmentEntry) (*shownHandout, error) {
	if !is.Graded { // it has no harness
		return nil, nil
	}
	p, sizes, err := d.deps.Classes.ViewHandout(r.Context(), r.Actor(), is.Class, is.Handle)
	if err != nil || p == nil {
		return nil, err
	}
	at := func(file string) string { return handoutURL(is.Class, is.Handle, file) }
	h := &shownHandout{}
	h.statements(r, p.Statements, sizes, at)
	for i, s := range p.Samples {
		one := shownSample{Sample: s}
		for k, part := range s.Parts {
			shown := samplePart{Part: part, ID: "sample" + strconv.Itoa(i+1) + "-" + strconv.Itoa(k+1), Title: r.T(partTitles[part.Kind]), URL: at(part.Path) + "?download=1"}
			if part.Kind == "interaction" {
				shown.Talk = handout.Conversation(part.Text)
			}
			one.Parts = append(one.Parts, shown)
		}
		h.Samples = append(h.Samples, one)
	}
	if len(h.Samples) > 0 {
		h.Zip = path("classes", is.Class, "assignments", is.Handle, "samples.zip")
	}
	for _, f := range p.Attachments {
		h.Downloads = append(h.Downloads, handoutFile{strings.TrimPrefix(f, handout.Attachments+"/"), at(f) + "?download=1", sizes[f]})
	}
	return h, nil
}

// partTitles say what a file of a sample is, by its suffix.
var partTitles = map[string]string{
	"in":          page.Sentence("Input"),
	"ans":         page.Sentence("Output"),
	"interaction": page.Sentence("Conversation"),
}

// handoutURL is the address of a file of a handout.
func handoutURL(class, handle, file string) string {
	u := url.URL{Path: path("classes", class, "assignments", handle, "handout", file)}
	return u.EscapedPath()
}

// statements chooses the statement that is shown, and links the others.
func (h *shownHandout) statements(r *page.Request, all []handout.Statement, sizes map[string]int64, at func(file string) string) {
	if len(all) == 0 {
		return
	}
	shown := readable(all, r.URL.Query().Get("statement"), r.Tag)
	s := all[shown]
	h.Tag = s.Language
	picture := func(src string) string {
		file := pathpkg.Join(handout.Statements, src)
		if _, there := sizes[file]; !there {
			return ""
		}
		return at(file)
	}
	switch {
	case s.Markdown != "":
		h.Text = page.Statement(s.Markdown, false, picture)
	case s.HTML != "":
		h.Text = page.Statement(s.HTML, true, picture)
	}
	for i, o := range all {
		if i != shown && (o.Markdown != "" || o.HTML != "") {
			h.Others = append(h.Others, statementLink{Tag: o.Language, Name: languageName(o.Language), URL: "?" + url.Values{"statement": {tagOf(o)}}.Encode()})
		}
		for _, file := range []string{o.PDF, o.Long} {
			if file != "" {
				h.Files = append(h.Files, statementLink{o.Language, fileName(file, o.Language), at(file), sizes[file]})
			}
		}
	}
}

// tagOf names a statement in the query of an address.
func tagOf(s handout.Statement) string {
	if s.Language == "" {
		return "und"
	}
	return s.Language
}

// readable returns the place of the statement to show: one that has a text, if there is any.
func readable(all []handout.Statement, asked string, reader language.Tag) int {
	base, _ := reader.Base()
	for _, want := range []func(s handout.Statement) bool{
		func(s handout.Statement) bool { return asked != "" && tagOf(s) == asked },
		func(s handout.Statement) bool { of, _, _ := strings.Cut(s.Language, "-"); return of == base.String() },
		func(s handout.Statement) bool { return s.Language == "en" },
		func(handout.Statement) bool { return true },
	} {
		if i := slices.IndexFunc(all, func(s handout.Statement) bool { return (s.Markdown != "" || s.HTML != "") && want(s) }); i >= 0 {
			return i
		}
	}
	return 0
}

// languageNames are names of languages in themselves.
var languageNames = map[string]string{
	"cs": "Čeština", "da": "Dansk", "de": "Deutsch", "en": "English", "es": "Español", "et": "Eesti", "fi": "Suomi", "fr": "Français", "hr": "Hrvatski",
	"hu": "Magyar", "is": "Íslenska", "it": "Italiano", "ja": "日本語", "ko": "한국어", "nb": "Norsk", "nl": "Nederlands", "no": "Norsk", "pl": "Polski",
	"pt": "Português", "ru": "Русский", "sv": "Svenska", "tr": "Türkçe", "uk": "Українська", "zh": "中文",
}

// fileName says what kind of file a statement is, and in which language.
func fileName(file, tag string) string {
	name := strings.ToUpper(pathpkg.Ext(file)[1:])
	if tag != "" {
		name += " (" + languageName(tag) + ")"
	}
	return name
}

// languageName is a language's name in itself; one that is not known stays a tag.
func languageName(tag string) string { return cmp.Or(languageNames[tag], tag) }

func (d *student) zipSamples(r *page.Request) error {
	z, err := d.deps.Classes.ZipSamples(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"))
	if err != nil {
		return err
	}
	return d.sent(r, z.Write(r.Context(), transfer.Attachment(r.W, z.Name, -1)))
}

// handoutFile sends a file of a handout: pictures and PDF files to be shown, in a sandbox in which nothing of them runs,
// and all else as a download.
func (d *student) handoutFile(r *page.Request) error {
	f, content, err := d.deps.Classes.OpenHandout(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"), r.PathValue("path"))
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	if r.URL.Query().Has("download") {
		return d.deliver(r, f.Path, f.Size, content)
	}
	other := ""
	if strings.EqualFold(pathpkg.Ext(f.Path), ".svg") {
		other = "image/svg+xml" // the sandbox keeps what is in it from running, and pages show it as a picture only
	}
	return d.show(r, f, content, other)
}
