// Package deeds writes the audit trail: what somebody sets out to do is in it before it
// is done, and what then failed is told as that.
package deeds

import (
	"context"
	"strings"
	"time"
	"unicode"

	"drover/core"
)

// most is how many bytes of a deed's sentence are kept.
const most = 2000

// Book is where deeds are written.
type Book struct {
	Trail interface {
		AddDeed(ctx context.Context, d core.Deed) error
	}
	Now   func() time.Time
	NewID func() string
}

// Change does what a deed of the actor says, once that is in the trail. If it fails, a
// second entry says so.
func (b Book) Change(ctx context.Context, a core.Actor, d core.Deed, do func() error) error {
	if err := b.Add(ctx, a, d); err != nil {
		return err
	}
	err := do()
	if err != nil {
		d.Text = "failed: " + d.Text + ": " + err.Error()
		// What failed may have been the caller's patience. Of a trail that cannot be
		// written now, the first entry is true still: somebody set out to do it.
		_ = b.Add(context.WithoutCancel(ctx), a, d)
	}
	return err
}

// Add writes down a deed of the actor.
func (b Book) Add(ctx context.Context, a core.Actor, d core.Deed) error {
	d.ID, d.At, d.Actor = b.NewID(), b.Now().UnixMilli(), a.Handle
	d.Text = Sentence(d.Text)
	return b.Trail.AddDeed(ctx, d)
}

// Sentence makes one printable line of bounded length, which also reads as it is written.
func Sentence(s string) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
}
