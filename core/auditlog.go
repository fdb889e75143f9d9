package core

import (
	"cmp"
	"context"
)

// AuditEntry is an entry of the audit log: who did what to what. It is durable before the action is carried out, so
// no action is missing. If the action then fails, another entry says so.
type AuditEntry struct {
	ID      string `json:"id"` // a lower-case ULID
	At      int64  `json:"at_ms"`
	Actor   string `json:"actor"`
	Action  Action `json:"action"`
	Class   string `json:"class,omitempty"` // "" if it belongs to no class
	Subject string `json:"subject"`         // such as cs101/hw1, or a user's handle
	Text    string `json:"text"`            // one sentence: what, from what to what, why
}

// AuditFilter selects entries. A zero field matches every entry.
type AuditFilter struct {
	Class   string
	Actor   string
	Subject string
	Before  string // ids before this one, newest first: a page's cursor
	Limit   int    // 1 to 1000; 0 is 50
}

// AuditLog keeps the audit log. No user can change or delete an entry.
type AuditLog interface {
	// AddAuditEntry makes an entry durable; the same id again does nothing.
	AddAuditEntry(ctx context.Context, d AuditEntry) error
	// ListAuditEntries returns a page, newest first.
	ListAuditEntries(ctx context.Context, f AuditFilter) ([]AuditEntry, error)
}

// The bounds of the audit log, in bytes.
const (
	MaxSubject   = 255
	MaxAuditText = 4 << 10
)

// Check returns INVALID or LIMIT.
func (d AuditEntry) Check() error {
	return cmp.Or(
		CheckNames("id of an entry", d.ID, "user", d.Actor),
		CheckOptional("class", d.Class),
		CheckTitle(d.ID, "action", string(d.Action)),
		CheckLine(d.ID, "subject", d.Subject, MaxSubject),
		CheckText(d.ID, "text", d.Text, MaxAuditText),
		CheckTimes(d.ID, d.At),
	)
}
