package staff

import (
	"cmp"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"drover/core/classes"
	"drover/core/harness"
	"drover/core/service/pattern"
	"drover/web/page"
	"drover/web/transfer"
)

// casesPage is the editor of a harness's cases.yaml.
type casesPage struct {
	harnessPage
	Text    string
	Was     string // the digest of the harness that is edited
	Wrong   string // what is wrong with the text
	Near    []textLine
	Checked bool // the text was checked, and is valid
}

// textLine is a line of a text, with its number.
type textLine struct {
	Number int
	Text   string
	Bad    bool
}

// firstCases is what the editor of an assignment without a harness begins with.
const firstCases = `# How a submission is built, and what runs it.
build:
- cc -O2 -o main main.c
run: ./main

tests:
- name: an example
  input: "1 2\n"
  output: "3\n"
- name: large numbers
  visibility: hidden
  points: 2
  input: "2000000000 2000000000\n"
  output: "4000000000\n"
  message: Mind the range of int.
`

func (s *staff) casesPage(r *page.Request) (casesPage, error) {
	h, err := s.harnessPage(r)
	p := casesPage{harnessPage: h, Text: h.View.Cases, Was: h.View.Digest()}
	if h.View.Harness == nil {
		p.Text = firstCases
	}
	return p, err
}

func (s *staff) cases(r *page.Request) error {
	p, err := s.casesPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/cases", p)
}

// saveCases checks the text, and makes it the assignment's or tries it on everybody, as the button says.
func (s *staff) saveCases(r *page.Request) error {
	p, err := s.casesPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Text, p.Was = f.text("text"), f.line("was")
	edit := classes.CasesEdit{Was: p.Was, Text: p.Text}
	do := f.line("do")
	if do == "save" {
		as, err := s.Classes.SaveCases(r.Context(), r.Actor(), p.Class, p.Handle, edit)
		if err == nil {
			return r.Redirect(assignmentPath(as.Class, as.Handle)+"/harness", r.T("From now on %s is graded by the new tests.", cmp.Or(as.Title, as.Handle)))
		}
		return s.wrongCases(r, p, err)
	}
	v, err := s.Classes.DraftCases(r.Context(), r.Actor(), p.Class, p.Handle, edit)
	if err == nil && do == useAll {
		var e string
		if e, _, err = s.use(r, p.harnessPage, &v.Package, useAll); err == nil {
			return r.Redirect(e, r.T("The harness is being tried. It becomes the assignment's harness when you apply this."))
		}
	}
	if err != nil {
		return s.wrongCases(r, p, err)
	}
	p.View, p.Checked = v, true
	p.warn(r)
	return r.Render("staff/cases", p)
}

// wrongCases shows the text again, with what is wrong with it at its line.
func (s *staff) wrongCases(r *page.Request, p casesPage, err error) error {
	p.Wrong = err.Error()
	p.Near = near(p.Text, lineOf(p.Wrong))
	return r.Again(mendable(err), "staff/cases", p)
}

var lineNumber = pattern.New(`\bline (\d+)`)

// lineOf returns the line that an error about cases.yaml names; 0 for none.
func lineOf(wrong string) int {
	found := lineNumber().FindStringSubmatch(wrong)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// near returns the lines around one of a text.
func near(text string, line int) []textLine {
	const around, longest = 2, 200
	all := strings.Split(text, "\n")
	if line < 1 || line > len(all) {
		return nil
	}
	var some []textLine
	for i := max(1, line-around); i <= min(len(all), line+around); i++ {
		one := []rune(all[i-1])
		if len(one) > longest {
			one = append(one[:longest:longest], '…')
		}
		some = append(some, textLine{i, string(one), i == line})
	}
	return some
}

// harnessFile answers with a file of the harness as a download, and with the whole folder for harness.tar.
func (s *staff) harnessFile(r *page.Request) error {
	name := r.PathValue("path")
	file := name
	if name == harness.TarFile {
		file = ""
	}
	content, size, err := s.Classes.OpenHarness(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"), file)
	if err != nil {
		return err
	}
	_, err = io.Copy(transfer.Attachment(r.W, r.PathValue("assignment")+"-"+path.Base(name), size), content)
	return err
}

// warning says advice about a harness in the reader's language.
func warning(r *page.Request, w harness.Warning) string {
	args := make([]any, len(w.Args))
	for i, arg := range w.Args {
		if d, ok := arg.(time.Duration); ok {
			arg = r.Span(d.Milliseconds())
		}
		args[i] = arg
	}
	return r.T(w.Sentence, args...)
}
