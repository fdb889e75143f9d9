// Package auditlog writes an entry for each action of a user before it is carried out.
package auditlog

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"

	"drover/core"
)

// maxText is how many bytes of an entry's sentence are kept.
const maxText = 2000

// Log writes entries.
type Log struct {
	Store interface {
		AddAuditEntry(ctx context.Context, d core.AuditEntry) error
	}
	Now   func() time.Time
	NewID func() string // nil: a ULID
}

// Do writes an entry to the audit log and then does what it says. If that fails, a second entry says so.
func (b Log) Do(ctx context.Context, a core.Actor, d core.AuditEntry, do func() error) error {
	if err := b.add(ctx, a, d); err != nil {
		return err
	}
	err := do()
	if err != nil {
		d.Text = "failed: " + d.Text + ": " + err.Error()
		// The failure may be the caller's deadline. If the second entry cannot be written, the first one is still
		// true: the action was begun.
		_ = b.add(context.WithoutCancel(ctx), a, d)
	}
	return err
}

func (b Log) add(ctx context.Context, a core.Actor, d core.AuditEntry) error {
	newID := b.NewID
	if newID == nil {
		newID = func() string { return strings.ToLower(ulid.Make().String()) }
	}
	d.ID, d.At, d.Actor = newID(), b.Now().UnixMilli(), a.Handle
	d.Text = Sentence(d.Text)
	if err := d.Check(); err != nil {
		return err
	}
	return b.Store.AddAuditEntry(ctx, d)
}

// Sentence makes one printable line of bounded length.
func Sentence(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
}
