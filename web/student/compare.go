package student

import (
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
	"drover/web/source"
)

// Bounds on a comparison of two submissions.
const (
	comparedAttempts = 200 // of which one is chosen
	comparedFiles    = 50  // whose content is compared
	comparedRows     = 4000
)

// compare shows what changed between two submissions of a student to an assignment.
type compare struct {
	Submission school.Submission // the one whose page this is
	Title      string
	Others     bool
	With       string // id of the other one; "" if there is none
	Choices    []choice
	At         string // when this one was submitted
	Old, New   string // when those that are compared were
	Files      []comparedFile
	Same       int // files that are equal
}

// choice is an attempt that may be chosen.
type choice struct {
	classes.SubmissionEntry
	At string
}

// comparedFile is a file that is not the same in both.
type comparedFile struct {
	Path, URL string
	State     string // added, removed or changed
	source.Comparison
	Said string // why no lines are shown; "" if they are
}

func (d *student) compare(r *page.Request) error {
	ctx, actor, reg := r.Context(), r.Actor(), d.deps.Classes
	here, err := reg.OpenFiles(ctx, actor, r.PathValue("id"))
	if err != nil {
		return err
	}
	s := here.Submission
	c := compare{Submission: s, Title: here.Title, Others: s.User != actor.Handle, With: r.URL.Query().Get("with"), At: absolute(r, s.At)}
	all, err := reg.ListSubmissions(ctx, actor, school.SubmissionFilter{Class: s.Class, Assignment: s.Assignment, User: s.User, Limit: comparedAttempts})
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Submission.ID != s.ID {
			c.Choices = append(c.Choices, choice{e, absolute(r, e.Submission.At)})
		}
	}
	if c.With == "" {
		c.With = c.preceding()
	}
	if c.With == "" {
		return r.Render("student/compare", c)
	}
	there, err := reg.OpenFiles(ctx, actor, c.With)
	if err != nil {
		return err
	}
	if o := there.Submission; o.User != s.User || o.Class != s.Class || o.Assignment != s.Assignment {
		return core.Errorf(core.CodeInvalid, o.ID, "%s", r.T("Only attempts of one student at one assignment can be compared."))
	}
	if there.Submission.ID > s.ID {
		here, there = there, here
	}
	c.Old, c.New = absolute(r, there.Submission.At), absolute(r, here.Submission.At)
	if err := c.read(r, there, here); err != nil {
		return err
	}
	return r.Render("student/compare", c)
}

// preceding returns the id of the attempt before this one, or of the first one after it.
func (c *compare) preceding() string {
	after := ""
	for _, a := range c.Choices { // newest first
		if a.Submission.ID < c.Submission.ID {
			return a.Submission.ID
		}
		after = a.Submission.ID
	}
	return after
}

// read compares the files of both.
func (c *compare) read(r *page.Request, from, to *classes.Files) error {
	olds, news := byPath(from.Submission.Files), byPath(to.Submission.Files)
	rows := 0
	for _, path := range paths(olds, news) {
		old, was := olds[path]
		now, is := news[path]
		if was && is && old.Digest == now.Digest {
			c.Same++
			continue
		}
		f := comparedFile{Path: path, State: "changed"}
		in := to.Submission
		if !was {
			f.State = "added"
		} else if !is {
			f.State, in = "removed", from.Submission
		}
		f.URL = fileRows(submissionFiles(in.ID), []core.File{{Path: path}})[0].URL
		switch {
		case len(c.Files) >= comparedFiles || rows >= comparedRows:
			f.Said = r.T("Too much has changed to show this file, too.")
		default:
			if err := f.read(r, from, to, was, is); err != nil {
				return err
			}
		}
		for _, h := range f.Hunks {
			rows += len(h.Rows)
		}
		c.Files = append(c.Files, f)
	}
	return nil
}

func byPath(files []core.File) map[string]core.File {
	all := make(map[string]core.File, len(files))
	for _, f := range files {
		all[f.Path] = f
	}
	return all
}

// paths returns the paths of both, in order.
func paths(a, b map[string]core.File) []string {
	var all []string
	for _, m := range []map[string]core.File{a, b} {
		for path := range m {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// read compares the content of one file.
func (f *comparedFile) read(r *page.Request, from, to *classes.Files, was, is bool) error {
	var texts [2]string
	for i, side := range []struct {
		files *classes.Files
		there bool
	}{{from, was}, {to, is}} {
		if !side.there {
			continue
		}
		file, content, err := side.files.Open(r.Context(), f.Path)
		if err != nil {
			return err
		}
		read, err := source.Read(f.Path, file.Size, content)
		_ = content.Close() // only read from
		if err != nil {
			return err
		}
		if read.Kind != source.Text && read.Kind != source.Notebook && read.Kind != source.Empty || len(read.Text) > source.MaxCompared {
			f.Said = r.T("This file is no text, or too large to be compared.")
			return nil
		}
		texts[i] = read.Text
	}
	f.Comparison = source.Compare(f.Path, texts[0], texts[1])
	if len(f.Hunks) == 0 && was && is {
		f.Said = r.T("Only the ends of lines differ.")
	}
	return nil
}
