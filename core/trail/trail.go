// Package trail writes down what users do before they do it.
package trail

import (
	"context"
	"strings"
	"time"
	"unicode"

	"drover/core"
)

// maxText is how many bytes of a deed's sentence are kept.
const maxText = 2000

// Book is where deeds are written.
type Book struct {
	Trail interface {
		AddDeed(ctx context.Context, d core.Deed) error
	}
	Now   func() time.Time
	NewID func() string
}

// Do does what a deed says, once that is in the trail. If it fails, a second entry
// says so.
func (b Book) Do(ctx context.Context, a core.Actor, d core.Deed, do func() error) error {
	if err := b.add(ctx, a, d); err != nil {
		return err
	}
	err := do()
	if err != nil {
		d.Text = "failed: " + d.Text + ": " + err.Error()
		// What failed may have been the caller's patience. Of a trail that cannot be
		// written now, the first entry is true still: somebody set out to do it.
		_ = b.add(context.WithoutCancel(ctx), a, d)
	}
	return err
}

func (b Book) add(ctx context.Context, a core.Actor, d core.Deed) error {
	d.ID, d.At, d.Actor = b.NewID(), b.Now().UnixMilli(), a.Handle
	d.Text = Sentence(d.Text)
	return b.Trail.AddDeed(ctx, d)
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
