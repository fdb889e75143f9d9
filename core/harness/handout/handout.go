// Package handout reads what students may see of a harness: the files in its folder handout. Statements are
// statement/problem.LANGUAGE.md, .html and .pdf, with the pictures beside them; attachments/ has files to download;
// samples/ has NAME.in, NAME.ans and what explains them.
package handout

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/service/pattern"
)

// Folder is the name of the folder in a harness. PageFile names the page in a list of a handout's files.
const (
	Folder   = "handout"
	PageFile = ".page"
)

// Folders of a handout.
const (
	Statements  = "statement"
	Attachments = "attachments"
	Samples     = "samples"
)

// Bounds on a handout.
const (
	MaxFiles   = 100
	MaxBytes   = 32 << 20 // of all files
	maxName    = 200      // bytes of a path
	maxText    = 64 << 10 // bytes of a statement that pages show; a longer one is a download
	maxSample  = 4 << 10  // bytes of a sample's file that pages show, in whole lines
	maxSamples = 20       // that pages show
	MaxPage    = 2 << 20  // bytes of a page as it is stored
)

// Page is what the page of an assignment shows of a handout.
type Page struct {
	Statements  []Statement `json:"statements,omitempty"`
	Samples     []Sample    `json:"samples,omitempty"`
	Attachments []string    `json:"attachments,omitempty"` // paths of files
}

// Statement is the statement in one language.
type Statement struct {
	Language string `json:"language,omitempty"` // such as en; "" if its file does not say
	Markdown string `json:"markdown,omitempty"`
	HTML     string `json:"html,omitempty"` // if there is no Markdown; as it is in the file
	PDF      string `json:"pdf,omitempty"`  // path of the file
	Long     string `json:"long,omitempty"` // path of a file that is too long to be shown
}

// Sample is a sample of input and output, or of a conversation.
type Sample struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"` // what explains it
	Parts []Part `json:"parts,omitempty"`
}

// Part is one file of a sample.
type Part struct {
	Kind string `json:"kind"` // its suffix: in, ans, interaction
	Path string `json:"path"`
	Size int64  `json:"size"`
	Text string `json:"text,omitempty"` // the beginning, in whole lines; "" if it is no text
	Cut  bool   `json:"cut,omitempty"`  // there is more than Text
}

// File is a file of a handout.
type File struct {
	Path    string // below Folder
	Content []byte
}

// Read returns the handout of a harness; nil if it has none. Returns INVALID or LIMIT.
func Read(archive *cases.Archive) (*Page, []File, error) {
	var all []File
	room := int64(MaxBytes)
	for _, name := range archive.Names() {
		rel, ok := strings.CutPrefix(name, Folder+"/")
		if !ok {
			continue
		}
		if err := check(rel); err != nil {
			return nil, nil, err
		}
		in, size, err := archive.Open(name)
		if err != nil {
			return nil, nil, err
		}
		if room -= size; room < 0 || len(all) == MaxFiles {
			return nil, nil, core.Errorf(core.CodeLimit, Folder, "the folder %s of the harness has more than %d files or %d MiB", Folder, MaxFiles, MaxBytes>>20)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, nil, core.Wrap(err, core.CodeInvalid, name, "%.80q cannot be read", name)
		}
		all = append(all, File{rel, content})
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	return page(all), all, nil
}

// check returns an error for a path that is no safe name in an address and on a student's disk.
func check(rel string) error {
	bad := len(rel) > maxName || !fs.ValidPath(rel) || strings.ContainsFunc(rel, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == utf8.RuneError })
	for part := range strings.SplitSeq(rel, "/") {
		bad = bad || strings.HasPrefix(part, ".")
	}
	if bad {
		return core.Errorf(core.CodeInvalid, rel, "the file %.80q in the folder %s of the harness needs another name: without a dot in front, backslashes and control characters, and of at most %d bytes", rel, Folder, maxName)
	}
	return nil
}

// statementName matches statements, by language and suffix.
var statementName = pattern.New(`^` + Statements + `/problem(?:\.([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?))?\.(md|html|pdf)$`)

func page(all []File) *Page {
	p := &Page{}
	for _, f := range all {
		switch dir, _, _ := strings.Cut(f.Path, "/"); dir {
		case Statements:
			if m := statementName().FindStringSubmatch(f.Path); m != nil {
				p.statement(f, m[1], m[2])
			}
		case Attachments:
			p.Attachments = append(p.Attachments, f.Path)
		case Samples:
			p.sample(f)
		}
	}
	for i := range p.Statements {
		if s := &p.Statements[i]; s.Markdown != "" {
			s.HTML = ""
		}
	}
	p.Samples = slices.DeleteFunc(p.Samples, func(s Sample) bool { return len(s.Parts) == 0 })
	slices.SortStableFunc(p.Samples, func(a, b Sample) int { return cmp.Or(len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name)) }) // 10 after 9
	p.Samples = p.Samples[:min(len(p.Samples), maxSamples)]
	for i := range p.Samples {
		order := map[string]int{"in": 1, "ans": 2, "interaction": 3}
		slices.SortStableFunc(p.Samples[i].Parts, func(a, b Part) int { return order[a.Kind] - order[b.Kind] })
	}
	return p
}

// statement adds a file to the statement in its language.
func (p *Page) statement(f File, language, suffix string) {
	i := slices.IndexFunc(p.Statements, func(s Statement) bool { return s.Language == language })
	if i < 0 {
		i, p.Statements = len(p.Statements), append(p.Statements, Statement{Language: language})
	}
	s := &p.Statements[i]
	switch {
	case suffix == "pdf":
		s.PDF = f.Path
	case len(f.Content) > maxText || !utf8.Valid(f.Content):
		s.Long = f.Path
	case suffix == "md":
		s.Markdown = string(f.Content)
	default:
		s.HTML = string(f.Content)
	}
}

// sample adds a file to its sample.
func (p *Page) sample(f File) {
	rel := strings.TrimPrefix(f.Path, Samples+"/")
	suffix := path.Ext(rel)
	name := strings.TrimSuffix(rel, suffix)
	i := slices.IndexFunc(p.Samples, func(s Sample) bool { return s.Name == name })
	if i < 0 {
		i, p.Samples = len(p.Samples), append(p.Samples, Sample{Name: name})
	}
	s := &p.Samples[i]
	text, cut := beginning(f.Content)
	switch suffix {
	case ".desc", ".hint":
		s.About = strings.TrimSpace(s.About + "\n\n" + text)
	case ".in", ".ans", ".interaction":
		s.Parts = append(s.Parts, Part{Kind: suffix[1:], Path: f.Path, Size: int64(len(f.Content)), Text: text, Cut: cut})
	}
}

// beginning returns the whole lines with which a text begins, as many as pages show, and whether there is more.
func beginning(content []byte) (text string, cut bool) {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return "", true
	}
	if len(content) <= maxSample {
		return string(content), false
	}
	head := content[:maxSample]
	if end := bytes.LastIndexByte(head, '\n'); end >= 0 {
		head = head[:end+1]
	} else {
		for !utf8.Valid(head) {
			head = head[:len(head)-1]
		}
	}
	return string(head), true
}

// Interaction is one line of a conversation.
type Interaction struct {
	Sent bool // by the submission
	Text string
}

// Conversation reads the lines of an interaction: those that begin with > are sent by the submission, those with < to it.
func Conversation(text string) []Interaction {
	var all []Interaction
	for line := range strings.Lines(text) {
		switch line = strings.TrimRight(line, "\r\n"); {
		case strings.HasPrefix(line, ">"):
			all = append(all, Interaction{true, line[1:]})
		case strings.HasPrefix(line, "<"):
			all = append(all, Interaction{false, line[1:]})
		}
	}
	return all
}
