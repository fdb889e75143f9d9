package problem

import (
	"path"
	"slices"
	"strings"

	"drover/core/harness/handout"
	"drover/core/service/pattern"
)

// shown is a file that students may see, and its place in the handout of the harness.
type shown struct{ from, to string }

var (
	statementFile = pattern.New(`^problem(?:\.[a-zA-Z-]{2,12})?\.(md|html|pdf|tex)$`)
	// sampleMark is where a Markdown statement has its samples: pages show them below the statement.
	sampleMark = pattern.New(`(?m)^[ \t]*\{\{ *(?:nextsample|remainingsamples) *\}\}[ \t]*$`)
)

// pictures are the suffixes of pictures that pages show.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg"}

// showable finds the statements, samples and attachments.
func (p *Problem) showable() error {
	var all []shown
	for _, folder := range []string{"statement", "problem_statement"} {
		all = append(all, p.statementsIn(folder)...)
	}
	for _, name := range []string{"problem.pdf", "problem.html"} { // as DOMjudge has them
		if to := handout.Statements + "/" + name; p.has(name) && !slices.ContainsFunc(all, func(s shown) bool { return s.to == to }) {
			all = append(all, shown{name, to})
		}
	}
	if !slices.ContainsFunc(all, func(s shown) bool { return statementFile().MatchString(path.Base(s.to)) }) {
		p.note("statement", 0, "there is no statement in Markdown, HTML or PDF: write the assignment's text yourself")
	}
	all = append(all, p.samples()...)
	for _, f := range p.below("attachments") {
		all = append(all, shown{f, handout.Attachments + strings.TrimPrefix(f, "attachments")})
	}
	return p.fit(all)
}

// fit keeps as many files for students as a handout may have.
func (p *Problem) fit(all []shown) error {
	room := int64(handout.MaxBytes)
	for _, s := range all {
		info, err := p.root.Stat(s.from)
		if err != nil {
			return err
		}
		if len(p.shown) == handout.MaxFiles || info.Size() > room {
			p.note(s.from, 0, "it is not shown to students: statements, samples and attachments have more than %d files or %d MiB", handout.MaxFiles, handout.MaxBytes/mebi)
			continue
		}
		room -= info.Size()
		p.shown = append(p.shown, s)
	}
	return nil
}

// statementsIn are the statements in a folder, and their pictures.
func (p *Problem) statementsIn(folder string) []shown {
	var all []shown
	for _, f := range p.below(folder) {
		rel := strings.TrimPrefix(f, folder+"/")
		switch m := statementFile().FindStringSubmatch(rel); {
		case m != nil && m[1] == "tex":
			if pdf := strings.TrimSuffix(f, "tex") + "pdf"; p.has(pdf) {
				p.note(f, 0, "LaTeX is not rendered; students get %s", pdf)
			} else {
				p.note(f, 0, "LaTeX is not rendered: put a PDF of it beside it, as %s", path.Base(pdf))
			}
		case m != nil, slices.Contains(pictures, strings.ToLower(path.Ext(f))):
			all = append(all, shown{f, handout.Statements + "/" + rel})
		}
	}
	return all
}

// samples are the files of samples. One with a conversation is shown as that, and statement files replace the test's.
func (p *Problem) samples() []shown {
	var all []shown
	for _, f := range p.below("data/sample") {
		rel := strings.TrimPrefix(f, "data/sample/")
		stem, ext := strings.TrimSuffix(rel, path.Ext(rel)), path.Ext(rel)
		test := "data/sample/" + stem
		switch {
		case strings.Contains(rel, ".files/"):
			continue
		case ext == ".statement" && (strings.HasSuffix(stem, ".in") || strings.HasSuffix(stem, ".ans")):
			all = append(all, shown{f, handout.Samples + "/" + stem})
		case slices.Contains([]string{".in", ".ans"}, ext) && !p.has(test+".interaction") && !p.has(f+".statement"),
			slices.Contains([]string{".interaction", ".desc", ".hint"}, ext):
			all = append(all, shown{f, handout.Samples + "/" + rel})
		}
	}
	return all
}

// handout writes what students may see.
func (w *writer) handout() {
	for _, s := range w.p.shown {
		to := handout.Folder + "/" + s.to
		if path.Ext(s.to) != ".md" && path.Ext(s.to) != ".html" || !strings.HasPrefix(s.to, handout.Statements+"/") {
			w.plain(s.from, to)
			continue
		}
		content, err := w.p.bytes(s.from, handout.MaxBytes)
		if err != nil {
			w.err = err
			return
		}
		if content = w.p.filled(sampleMark().ReplaceAll(content, nil)); w.p.polygon != nil {
			content = []byte(withoutDollars(string(content)))
		}
		w.put(to, content, filePlain)
	}
}
