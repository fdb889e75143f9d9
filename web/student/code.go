package student

import (
	"bytes"
	"cmp"
	"io"
	"net/url"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
	"drover/web/source"
	"drover/web/transfer"
)

// Bounds on the lines of a file that a page shows.
const (
	linesShown = 400    // at first; links lead to the others
	linesAll   = 20_000 // when all of them are asked for
	linesAbove = 20     // the first one that is asked for
)

// code shows the files of a submission, one of them open.
type code struct {
	Submission school.Submission
	Title      string // of the assignment
	Others     bool   // it belongs to another user
	Files      []codeFile
	Open       *openFile // nil if there is none to show
}

type codeFile struct {
	fileRow
	Here bool
}

// openFile is the file that a page shows.
type openFile struct {
	codeFile
	source.File
	Lines          []shownLine
	From, To       int // of the lines that are shown
	Total          int
	Before, After  string // URLs of those above and below; "" if there are none
	All            string // URL of all lines; "" if they are shown, or too many
	Cells          []cell // of a notebook
	Plain          string // URL that shows a notebook as text; or, of its text, as a notebook
	TooLong        bool   // there are more lines than a page shows at most
	Show, Download string // URLs of the content

	Above       []remark // comments on the file, and on lines that are not shown
	Staff       bool     // the reader may comment
	Submission  string   // its id
	First, Last int      // the lines that were asked for
}

type shownLine struct {
	source.Line
	Marked  bool // it was asked for
	Remarks []remark
	Form    bool // the form for a comment is below it
}

// cell is a cell of a notebook.
type cell struct {
	source.Cell
	Lines   []source.Line // of code
	Outputs []cellOutput
}

type cellOutput struct {
	source.Output
	Picture string // URL; "" if it has none
}

// code shows the first file of a submission that is source.
func (d *student) code(r *page.Request) error {
	files, err := d.deps.Classes.OpenFiles(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return d.showCode(r, files, files.First())
}

// codeFile shows a file of a submission, or sends its content.
func (d *student) codeFile(r *page.Request) error {
	files, err := d.deps.Classes.OpenFiles(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	switch path := r.PathValue("path"); {
	case q.Has("download"):
		return d.sendFile(r, files, path)
	case q.Has("show"):
		return d.inline(r, files, path)
	case q.Has("output"):
		return d.notebookPicture(r, files, path)
	default:
		return d.showCode(r, files, path)
	}
}

func (d *student) showCode(r *page.Request, files *classes.Files, path string) error {
	s := files.Submission
	c := code{Submission: s, Title: files.Title, Others: s.User != r.Actor().Handle}
	for _, row := range fileRows(submissionFiles(s.ID), s.Files) {
		c.Files = append(c.Files, codeFile{row, row.Path == path})
	}
	if len(s.Files) == 0 {
		return r.Render("student/code", c)
	}
	f, content, err := files.Open(r.Context(), path)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	read, err := source.Read(f.Path, f.Size, content)
	if err != nil {
		return err
	}
	row := fileRows(submissionFiles(s.ID), []core.File{f})[0]
	c.Open = &openFile{codeFile: codeFile{row, true}, File: read, Show: row.URL + "?show=1", Download: row.URL + "?download=1"}
	c.Open.read(r)
	t, err := d.readTalk(r, files)
	if err != nil {
		return err
	}
	c.Open.place(&t, c.Open.Last)
	return r.Render("student/code", c)
}

// submissionFiles is the path below which a submission's files are.
func submissionFiles(id string) string { return path("submissions", id, "files") }

// read fills in the lines or cells that are shown.
func (o *openFile) read(r *page.Request) {
	q := r.URL.Query()
	if o.Book != nil {
		if o.Plain = o.URL + "?text=1"; !q.Has("text") {
			o.cells()
			return
		}
		o.Plain = o.URL
	}
	if o.Kind != source.Text && o.Kind != source.Notebook {
		return
	}
	lines := source.Lines(o.Path, o.Text)
	o.Total = len(lines)
	first, last := lineRange(q.Get("lines"))
	o.First, o.Last = first, last
	from, count := max(1, first-linesAbove), linesShown
	if first < linesShown-linesAbove {
		from = 1
	}
	if n, err := strconv.Atoi(q.Get("from")); err == nil && n > 0 {
		from = n
	}
	if q.Has("all") {
		from, count = 1, linesAll
	}
	o.From = min(from, max(1, o.Total))
	o.To = min(o.Total, o.From+count-1)
	for _, line := range lines[min(o.From-1, o.Total):o.To] {
		o.Lines = append(o.Lines, shownLine{Line: line, Marked: line.Number >= first && line.Number <= last})
	}
	o.links()
}

// links fills in what leads to the lines that are not shown.
func (o *openFile) links() {
	if o.From > 1 {
		o.Before = o.URL + "?from=" + strconv.Itoa(max(1, o.From-linesShown))
	}
	if o.To < o.Total {
		o.After = o.URL + "?from=" + strconv.Itoa(o.To+1)
	}
	if o.Total > linesAll {
		o.TooLong = true
	} else if o.Before != "" || o.After != "" {
		o.All = o.URL + "?all=1"
	}
}

// lineRange reads "5" or "5-9"; 0, -1 for anything else.
func lineRange(text string) (first, last int) {
	begin, end, isRange := strings.Cut(strings.ReplaceAll(text, "L", ""), "-")
	first, err := strconv.Atoi(begin)
	if err != nil || first < 1 {
		return 0, -1
	}
	if last = first; isRange {
		if last, err = strconv.Atoi(end); err != nil || last < first {
			return first, first
		}
	}
	return first, last
}

func (o *openFile) cells() {
	for i, c := range o.Book.Cells {
		one := cell{Cell: c}
		if c.Kind != "markdown" {
			one.Lines = source.Code(o.Book.Language, c.Text)
		}
		for k, out := range c.Outputs {
			shown := cellOutput{Output: out}
			if out.PNG != nil {
				shown.Picture = o.URL + "?" + url.Values{"output": {strconv.Itoa(i) + "." + strconv.Itoa(k)}}.Encode()
			}
			one.Outputs = append(one.Outputs, shown)
		}
		o.Cells = append(o.Cells, one)
	}
}

func (d *student) sendFile(r *page.Request, files *classes.Files, path string) error {
	f, content, err := files.Open(r.Context(), path)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	return d.deliver(r, f.Path, f.Size, content)
}

// inline sends a picture or a PDF for a browser to show. All else is a download.
func (d *student) inline(r *page.Request, files *classes.Files, path string) error {
	f, content, err := files.Open(r.Context(), path)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	return d.show(r, f, content, "")
}

// show sends a file for a browser to show, if its beginning says that it is a picture or a PDF, or as the other kind
// unless that is "". All else is a download.
func (d *student) show(r *page.Request, f core.File, content io.Reader, other string) error {
	var head [512]byte
	n, err := io.ReadFull(content, head[:])
	if err != nil && n == 0 && f.Size > 0 {
		return core.Wrap(err, core.CodeUnavailable, f.Path, "the file cannot be read")
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), content)
	kind := cmp.Or(source.MediaType(head[:n]), other)
	if kind == "" {
		return d.deliver(r, f.Path, f.Size, all)
	}
	_, err = io.Copy(transfer.Inline(r.W, f.Path, kind, f.Size), all)
	return d.sent(r, err)
}

// notebookPicture sends the picture that a cell of a notebook printed.
func (d *student) notebookPicture(r *page.Request, files *classes.Files, path string) error {
	f, content, err := files.Open(r.Context(), path)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	read, err := source.Read(f.Path, f.Size, content)
	if err != nil {
		return err
	}
	begin, end, _ := strings.Cut(r.URL.Query().Get("output"), ".")
	i, err := strconv.Atoi(begin)
	k, err2 := strconv.Atoi(end)
	png := read.Book.PNG(i, k)
	if err != nil || err2 != nil || png == nil {
		return core.Errorf(core.CodeNotFound, f.Path, "%s", r.T("There is no such picture."))
	}
	_, err = transfer.Inline(r.W, "output.png", "image/png", int64(len(png))).Write(png)
	return d.sent(r, err)
}
