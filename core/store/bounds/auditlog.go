package bounds

import (
	"cmp"

	"drover/core"
)

// The bounds of the audit log, in bytes.
const (
	MaxSubject   = 255
	MaxAuditText = 4 << 10
)

// AuditEntry checks an entry of the audit log. Returns INVALID or LIMIT.
func AuditEntry(d core.AuditEntry) error {
	if err := names("id of an entry", d.ID, "user", d.Actor); err != nil {
		return err
	}
	if d.Class != "" {
		if err := core.CheckName("class", d.Class); err != nil {
			return err
		}
	}
	return cmp.Or(
		title(d.ID, "action", string(d.Action)),
		line(d.ID, "subject", d.Subject, MaxSubject),
		text(d.ID, "text", d.Text, MaxAuditText),
		times(d.ID, d.At),
	)
}

// AuditEntries checks a filter and returns the number of entries that it selects. Returns INVALID.
func AuditEntries(f core.AuditFilter) (int, error) { return rows(f.Limit) }
