// Package auditlog writes down what users do before they do it.
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

// Log is where entries are written.
type Log struct {
	Store interface {
		AddAuditEntry(ctx context.Context, d core.AuditEntry) error
	}
	Now   func() time.Time
	NewID func() string // nil: a ULID
}

// Do does what an entry says, once that is in the audit log. If it fails, a second entry
// says so.
func (b Log) Do(ctx context.Context, a core.Actor, d core.AuditEntry, do func() error) error {
	if err := b.add(ctx, a, d); err != nil {
		return err
	}
	err := do()
	if err != nil {
		d.Text = "failed: " + d.Text + ": " + err.Error()
		// What failed may have been the caller's deadline. Of an audit log that cannot be
		// written now, the first entry is true still: somebody set out to do it.
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
	return b.Store.AddAuditEntry(ctx, d)
}

// Sentence makes one printable line of bounded length, which also reads as it is written.
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
