package taskrunner

import (
	"cmp"
	"context"
	"encoding/csv"
	"time"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/school"
)

// infoFile is the table of files in an archive for Dolos.
const infoFile = "info.csv"

// compared is a submission in an archive for a similarity checker.
type compared struct {
	user, id, label string
	at              int64
	files           []string
}

// compare begins the folder of a submission in an archive for a similarity checker: one folder each, by user or
// pseudonym.
func (p *packing) compare(s *school.Submission) string {
	label := portable.Part(s.User)
	if p.args.Pseudonyms {
		label = school.Pseudonym(s.ID)
	}
	if p.args.For == school.ForDolos {
		p.rows = append(p.rows, compared{user: s.User, id: s.ID, label: label, at: s.At})
	}
	return label + "/"
}

// info writes the table that Dolos reads: a line for each file. With pseudonyms it says nothing of users and ids.
func (a *Archive) info(ctx context.Context, p *packing) error {
	to, err := p.create(infoFile, time.Time{})
	if err != nil {
		return err
	}
	rows := csv.NewWriter(to)
	_ = rows.Write([]string{"filename", "full_name", "id", "status", "submission_id", "created_at", "labels"}) // Error below has it
	for _, c := range p.rows {
		name, id := c.label, c.label
		if !p.args.Pseudonyms {
			u, err := a.Store.GetUser(ctx, c.user)
			if err != nil && !core.Is(err, core.CodeNotFound) {
				return err
			}
			name, id = cmp.Or(u.Name, c.user), c.id
		}
		at := time.UnixMilli(c.at).UTC().Format("2006-01-02 15:04:05 -0700")
		for _, file := range c.files {
			_ = rows.Write([]string{portable.Cell(file), portable.Cell(name), id, "submitted", id, at, c.label})
		}
	}
	rows.Flush()
	return rows.Error()
}
