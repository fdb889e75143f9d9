package staff

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/portable"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) gradebookRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/gradebook", Action: core.ActExport, Serve: s.gradebook},
		{Pattern: "GET /classes/{class}/gradebook/file", Action: core.ActExport, Serve: s.gradebookFile},
		{Pattern: "POST /classes/{class}/gradebook", Action: core.ActGradeChange, Serve: s.gradeInBook},
	}
}

// gridRows is how many students a page of a gradebook has.
const gridRows = 50

// grid is a part of a gradebook, as the page shows it.
type grid struct {
	Book    classes.Book
	Most    []float64
	Sum     float64
	Section string // of the filter
	Name    string
	After   string
	Cell    string // the cell with a form: user/assignment
	Typed   url.Values
}

// query returns the filter of the page with further values.
func (g grid) query(more ...string) string {
	v := url.Values{}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1]) //nolint:gosec // pairs
	}
	for name, value := range map[string]string{"section": g.Section, "name": g.Name} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v.Encode()
}

// Next is the link to the next part; "" for none.
func (g grid) Next() string {
	if g.Book.Next == "" {
		return ""
	}
	return "?" + g.query("after", g.Book.Next)
}

// File is the link to a file of the whole gradebook, by the filter.
func (g grid) File(form string) string {
	return classPath(g.Book.Class.Handle) + "/gradebook/file?" + g.query("form", form)
}

// Here is the link to this part, with a form in a cell unless it is "".
func (g grid) Here(cell string) string {
	more := []string{"after", g.After}
	if cell != "" {
		more = append(more, "cell", cell)
	}
	return "?" + g.query(more...)
}

// gridCell is a cell with what the page needs to show it.
type gridCell struct {
	classes.BookCell
	Name string // user/assignment
	Link string
	Form bool
}

// Cells returns the cells of a row.
func (g grid) Cells(row classes.BookRow) []gridCell {
	all := make([]gridCell, len(row.Cells))
	for i, c := range row.Cells {
		name := row.User + "/" + g.Book.Columns[i].Handle
		all[i] = gridCell{BookCell: c, Name: name, Form: name == g.Cell, Link: g.Here(name)}
	}
	return all
}

// Outcomes returns the outcomes of this part, for the legend.
func (g grid) Outcomes() []core.OutcomeCount {
	count := map[core.ResultOutcome]int{}
	for _, row := range g.Book.Rows {
		for _, c := range row.Cells {
			if c.Counted != nil {
				count[c.Stands()]++
			}
		}
	}
	return core.CountedOutcomes(count)
}

// fill reads the part of the gradebook that the reader asks for.
func (s *staff) fill(r *page.Request, g *grid, class string) error {
	q := r.URL.Query()
	*g = grid{Section: q.Get("section"), Name: q.Get("name"), After: q.Get("after"), Cell: q.Get("cell"), Typed: url.Values{}}
	var err error
	g.Book, err = s.Classes.Gradebook(r.Context(), r.Actor(), class, classes.BookFilter{Section: g.Section, Name: g.Name, After: g.After, Limit: gridRows})
	g.Most, g.Sum = g.Book.Most()
	return err
}

func (s *staff) gradebook(r *page.Request) error {
	p, err := s.gradebookPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/gradebook", p)
}

// gradeInBook sets or removes a person's grade from a cell.
func (s *staff) gradeInBook(r *page.Request) error {
	p, err := s.gradebookPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	change := classes.GradeChange{
		Class: p.Class.Handle, Assignment: f.line("assignment"), User: f.line("user"), Submission: f.line("submission"), Reason: f.line("reason"),
	}
	p.Cell = change.User + "/" + change.Assignment
	if f.line("do") != "back" {
		if change.Score = f.points(r, "score", page.Sentence("Score")); change.Score == nil {
			f.wrong(r.T("Enter the number of points."))
		}
	}
	if err = f.err; err == nil {
		_, err = s.Classes.ChangeGrade(r.Context(), r.Actor(), change)
	}
	if err != nil {
		p.Typed = f.Typed
		return r.Again(mendable(err), "staff/gradebook", p)
	}
	return r.Redirect(classPath(p.Class.Handle)+"/gradebook"+p.Here("")+"#"+change.User, r.T("The grade of %s is changed.", change.User))
}

// gradebookFile sends the gradebook as a file: every student whom the filter matches.
func (s *staff) gradebookFile(r *page.Request) error {
	q := r.URL.Query()
	form, is := bookForms[cmp.Or(q.Get("form"), "csv")]
	if !is {
		return core.Errorf(core.CodeNotFound, "", "%s", r.T("There is no such page."))
	}
	class := r.PathValue("class")
	if err := may(r, core.ActExport, class); err != nil {
		if _, seen := s.Classes.ViewClass(r.Context(), r.Actor(), class); seen != nil {
			return seen
		}
		return err
	}
	f := classes.BookFilter{Section: q.Get("section"), Name: q.Get("name"), Limit: 1000}
	whole, err := s.Classes.Gradebook(r.Context(), r.Actor(), class, f)
	for f.After = whole.Next; err == nil && f.After != "" && len(whole.Rows) < mostBookRows; {
		var more classes.Book
		more, err = s.Classes.Gradebook(r.Context(), r.Actor(), class, f)
		whole.Rows = append(whole.Rows, more.Rows...)
		f.After = more.Next
	}
	if err != nil {
		return err
	}
	h := r.W.Header()
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-gradebook.%s"`, class, form.ext))
	h.Set("Content-Type", form.kind)
	h.Set("Cache-Control", "no-store")
	table := form.table(&whole)
	if form.ext == "xlsx" {
		return portable.Workbook(r.W, class, table)
	}
	return writeCSV(r.W, table)
}

// mostBookRows bounds the students in a file.
const mostBookRows = 20_000

// bookForm is a form of the gradebook as a file.
type bookForm struct {
	ext, kind string
	table     func(b *classes.Book) [][]any
}

const csvKind = "text/csv; charset=utf-8"

// bookForms are all forms, by name.
var bookForms = map[string]bookForm{
	"csv":    {"csv", csvKind, plainTable},
	"xlsx":   {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", plainTable},
	"canvas": {"csv", csvKind, canvasTable},
	"moodle": {"csv", csvKind, moodleTable},
}

// writeCSV writes a table in which no text is a formula.
func writeCSV(w http.ResponseWriter, table [][]any) error {
	out := csv.NewWriter(w)
	for _, row := range table {
		line := make([]string, len(row))
		for i, cell := range row {
			switch v := cell.(type) {
			case string:
				line[i] = portable.Cell(v)
			case float64:
				line[i] = strconv.FormatFloat(v, 'f', -1, 64)
			case *float64:
				if v != nil {
					line[i] = strconv.FormatFloat(*v, 'f', -1, 64)
				}
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// scores returns the scores of a row; a cell without one is empty.
func scores(row classes.BookRow) []any {
	all := make([]any, len(row.Cells))
	for i, c := range row.Cells {
		if c.Counted != nil {
			all[i] = c.Final
		}
	}
	return all
}

// plainTable has the names of columns, their maxima, and a row for each student.
func plainTable(b *classes.Book) [][]any {
	most, sum := b.Most()
	head, maxima := []any{"Name", "User", "E-mail", "Section"}, []any{"Maximum", "", "", ""}
	for i := range b.Columns {
		head, maxima = append(head, b.Columns[i].Handle), append(maxima, most[i])
	}
	all := [][]any{append(head, "Total", "Late days"), append(maxima, sum, float64(b.Class.LateDays))}
	for _, row := range b.Rows {
		line := append([]any{cmp.Or(row.Name, row.User), row.User, row.Email, row.Section}, scores(row)...)
		all = append(all, append(line, row.Total, float64(row.DaysSpent)))
	}
	return all
}

// canvasTable has the columns that Canvas imports: it finds students by SIS Login ID, and takes the second row for the
// maxima.
func canvasTable(b *classes.Book) [][]any {
	most, _ := b.Most()
	head, maxima := []any{"Student", "ID", "SIS User ID", "SIS Login ID", "Section"}, []any{"Points Possible", "", "", "", ""}
	for i := range b.Columns {
		head, maxima = append(head, titled(&b.Columns[i])), append(maxima, most[i])
	}
	all := [][]any{head, maxima}
	for _, row := range b.Rows {
		all = append(all, append([]any{cmp.Or(row.Name, row.User), "", "", cmp.Or(row.Email, row.User), row.Section}, scores(row)...))
	}
	return all
}

// moodleTable has the columns that Moodle's import of grades maps: it finds users by e-mail address or username.
func moodleTable(b *classes.Book) [][]any {
	head := []any{"Username", "Email address"}
	for i := range b.Columns {
		head = append(head, titled(&b.Columns[i]))
	}
	all := [][]any{head}
	for _, row := range b.Rows {
		all = append(all, append([]any{row.User, row.Email}, scores(row)...))
	}
	return all
}

func titled(as *school.Assignment) string { return cmp.Or(as.Title, as.Handle) }
