package bounds

import "drover/core"

// The bounds of the audit trail, in bytes.
const (
	MaxSubject  = 255
	MaxDeedText = 4 << 10
)

// Deed checks an entry of the audit trail. Returns INVALID or LIMIT.
func Deed(d core.Deed) error {
	if err := names("id of an entry", d.ID, "user", d.Actor); err != nil {
		return err
	}
	if d.Class != "" {
		if err := core.CheckName("class", d.Class); err != nil {
			return err
		}
	}
	return first(
		title(d.ID, "action", string(d.Action)),
		line(d.ID, "subject", d.Subject, MaxSubject),
		text(d.ID, "text", d.Text, MaxDeedText),
		times(d.ID, d.At),
	)
}

// Deeds checks a filter and returns the number of entries it asks for. Returns INVALID.
func Deeds(f core.TrailFilter) (int, error) { return rows(f.Limit) }
