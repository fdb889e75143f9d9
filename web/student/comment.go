package student

import (
	"cmp"
	"net/url"
	"strconv"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// remark is a comment, question or answer as pages show it.
type remark struct {
	school.Comment
	URL    string // of the lines that it is about; "" if it is about none
	Others bool   // the submission belongs to another user
	Change bool   // the reader may edit and delete it
	Edit   bool   // it is being edited
	Typed  string // the text in the form that edits it
}

// talk shows what people say about a submission.
type talk struct {
	Submission school.Submission
	Title      string
	Others     bool
	Staff      bool     // the reader may comment, release and answer
	Ask        bool     // the reader may ask
	Comments   []remark // by file and line
	Thread     []remark // questions and answers
	Drafts     int
	Open       bool               // a question has no answer
	Typed      classes.NewComment // in the form for a comment
	Said       string             // in the form for a question or answer
}

// readTalk returns what people say about a submission, and marks it as seen if the reader is its student.
func (d *student) readTalk(r *page.Request, files *classes.Files) (talk, error) {
	s := files.Submission
	all, err := d.deps.Classes.Comments(r.Context(), r.Actor(), s.ID)
	if err != nil {
		return talk{}, err
	}
	t := talk{Submission: s, Title: files.Title, Others: s.User != r.Actor().Handle}
	o := core.Object{Class: s.Class, Owner: s.User}
	t.Staff = core.Allow(r.Actor(), core.ActComment, o) == nil
	t.Ask = core.Allow(r.Actor(), core.ActAsk, o) == nil
	unread := false
	for _, c := range all {
		m := remark{Comment: c, Others: t.Others, Change: t.Staff, Typed: c.Text, Edit: r.URL.Query().Get("edit") == c.ID}
		if c.File != "" {
			m.URL = lineURL(s.ID, c)
		}
		unread = unread || c.Unread
		switch c.Kind {
		case school.CommentNote:
			t.Comments = append(t.Comments, m)
			if c.Draft() {
				t.Drafts++
			}
		case school.CommentQuestion:
			m.Change = t.Ask
			t.Open = t.Open || c.Open
			t.Thread = append(t.Thread, m)
		default:
			t.Thread = append(t.Thread, m)
		}
	}
	if unread && !t.Others {
		err = d.deps.Classes.SeeComments(r.Context(), r.Actor(), s.ID)
	}
	return t, err
}

// lineURL is where a comment on a file is shown.
func lineURL(submission string, c school.Comment) string {
	u := fileRows(submissionFiles(submission), []core.File{{Path: c.File}})[0].URL
	if c.Line > 0 {
		u += "?" + url.Values{"lines": {strconv.Itoa(c.Line) + "-" + strconv.Itoa(c.Last)}}.Encode()
	}
	return u + "#c-" + c.ID
}

func (d *student) comments(r *page.Request) error {
	t, err := d.talkOf(r)
	if err != nil {
		return err
	}
	return r.Render("student/comments", t)
}

func (d *student) talkOf(r *page.Request) (talk, error) {
	files, err := d.deps.Classes.OpenFiles(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return talk{}, err
	}
	return d.readTalk(r, files)
}

// again shows the page of comments with what was typed and what is wrong with it.
func (d *student) again(r *page.Request, wrong error, typed func(t *talk)) error {
	t, err := d.talkOf(r)
	if err != nil {
		return wrong
	}
	typed(&t)
	return r.Again(wrong, "student/comments", t)
}

func (d *student) addComment(r *page.Request) error {
	id := r.PathValue("id")
	n := classes.NewComment{Text: r.FormValue("text"), File: r.FormValue("file"), Line: number(r.FormValue("line")), Last: number(r.FormValue("last"))}
	c, err := d.deps.Classes.AddComment(r.Context(), r.Actor(), id, n)
	if err != nil {
		return d.again(r, err, func(t *talk) { t.Typed = n })
	}
	to := path("submissions", id, "comments")
	if c.File != "" {
		to = lineURL(id, c)
	}
	return r.Redirect(to, r.T("The comment is a draft: students see it once it is released."))
}

// number reads a number of a form; 0 for none, -1 for what is no number.
func number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func (d *student) askAbout(r *page.Request) error {
	id, text := r.PathValue("id"), r.FormValue("text")
	if _, err := d.deps.Classes.Ask(r.Context(), r.Actor(), id, text, ""); err != nil {
		return d.again(r, err, func(t *talk) { t.Said = text })
	}
	return r.Redirect(path("submissions", id, "comments"), r.T("Your question was sent to your staff."))
}

func (d *student) answer(r *page.Request) error {
	id, text := r.PathValue("id"), r.FormValue("text")
	if _, err := d.deps.Classes.Answer(r.Context(), r.Actor(), id, text, ""); err != nil {
		return d.again(r, err, func(t *talk) { t.Said = text })
	}
	return r.Redirect(path("submissions", id, "comments"), r.T("The answer was sent."))
}

func (d *student) release(r *page.Request) error {
	id := r.PathValue("id")
	n, err := d.deps.Classes.ReleaseComments(r.Context(), r.Actor(), id)
	if err != nil {
		return err
	}
	return r.Redirect(path("submissions", id, "comments"), r.N(n, "%d comment was released.", "%d comments were released."))
}

func (d *student) releaseAll(r *page.Request) error {
	class, assignment := r.PathValue("class"), r.PathValue("assignment")
	n, err := d.deps.Classes.ReleaseAllComments(r.Context(), r.Actor(), class, assignment)
	if err != nil {
		return err
	}
	return r.Redirect(r.Next(path("classes", class, "assignments", assignment)), r.N(n, "%d comment was released.", "%d comments were released."))
}

func (d *student) editComment(r *page.Request) error {
	id, which, text := r.PathValue("id"), r.PathValue("comment"), r.FormValue("text")
	if err := d.deps.Classes.EditComment(r.Context(), r.Actor(), which, text); err != nil {
		return d.again(r, err, func(t *talk) {
			for _, list := range [][]remark{t.Comments, t.Thread} {
				for i := range list {
					if list[i].ID == which {
						list[i].Edit, list[i].Typed = true, text
					}
				}
			}
		})
	}
	return r.Redirect(path("submissions", id, "comments"), r.T("The text was changed."))
}

func (d *student) deleteComment(r *page.Request) error {
	if err := d.deps.Classes.DeleteComment(r.Context(), r.Actor(), r.PathValue("comment")); err != nil {
		return err
	}
	return r.Redirect(path("submissions", r.PathValue("id"), "comments"), r.T("It was deleted."))
}

// place puts comments on a file at its lines: each below the last line that it is about, those on the whole file, and
// on lines that are not shown, above.
func (o *openFile) place(t *talk, marked int) {
	o.Staff, o.Submission = t.Staff, t.Submission.ID
	for _, c := range t.Comments {
		if c.File != o.Path {
			continue
		}
		i := cmp.Or(c.Last, c.Line) - o.From
		if c.Line == 0 || i < 0 || i >= len(o.Lines) {
			o.Above = append(o.Above, c)
			continue
		}
		o.Lines[i].Remarks = append(o.Lines[i].Remarks, c)
	}
	if i := marked - o.From; t.Staff && marked > 0 && i >= 0 && i < len(o.Lines) {
		o.Lines[i].Form = true
	}
}
