package staff

import (
	"encoding/csv"
	"strconv"
	"time"

	"drover/core/classes"
	"drover/core/classes/portable"
	"drover/web/page"
	"drover/web/services"
	"drover/web/transfer"
)

// submissionsCSV answers with the students that a filter selects, as a table for spreadsheets.
func (s *staff) submissionsCSV(r *page.Request) error {
	f := services.StudentFilter(r.URL.Query())
	class, handle := r.PathValue("class"), r.PathValue("assignment")
	all, err := s.Classes.Standings(r.Context(), r.Actor(), class, handle)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return err
	}
	rows := csv.NewWriter(transfer.Attachment(r.W, class+"-"+handle+"-submissions.csv", -1))
	_ = rows.Write([]string{"user", "name", "email", "section", "submission", "submitted", "late", "kind", "outcome", "score", "max_score"})
	for _, e := range f.Select(all) {
		_ = rows.Write(csvRow(&e))
	}
	rows.Flush()
	return rows.Error()
}

func csvRow(e *classes.StudentEntry) []string {
	cells := []string{portable.Cell(e.User), portable.Cell(e.Name), portable.Cell(e.Email), portable.Cell(e.Section)}
	if e.Counts == nil {
		return append(cells, "", "", "", "", "", "", "")
	}
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return pointsText(*x)
	}
	sub := e.Counts.Submission
	return append(cells, sub.ID, time.UnixMilli(sub.At).UTC().Format(time.RFC3339), strconv.FormatBool(sub.Late), sub.Kind,
		string(e.Counts.Outcome), number(e.Counts.Score), number(e.Counts.MaxScore))
}
