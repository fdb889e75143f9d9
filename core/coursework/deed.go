package coursework

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"drover/core"
)

// maxDeed is how many bytes of a deed's sentence are kept.
const maxDeed = 2000

// change does what a deed says, once that is in the trail. If it fails, a second
// entry says so.
func (r *Registrar) change(ctx context.Context, a core.Actor, d core.Deed, do func() error) error {
	if err := r.addDeed(ctx, a, d); err != nil {
		return err
	}
	err := do()
	if err != nil {
		d.Text = "failed: " + d.Text + ": " + err.Error()
		// What failed may have been the caller's patience. Of a trail that cannot be
		// written now, the first entry is true still: somebody set out to do it.
		_ = r.addDeed(context.WithoutCancel(ctx), a, d)
	}
	return err
}

func (r *Registrar) addDeed(ctx context.Context, a core.Actor, d core.Deed) error {
	d.ID, d.At, d.Actor = r.newID(), r.now().UnixMilli(), a.Handle
	d.Text = sentence(d.Text)
	return r.Store.AddDeed(ctx, d)
}

// sentence makes one printable line of bounded length, which also reads as it is written.
func sentence(s string) string {
	if len(s) > maxDeed {
		s = s[:maxDeed] + "…"
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// diff collects what an edit changes.
type diff []string

func (d *diff) note(what string, from, to any) {
	was, is := fmt.Sprint(from), fmt.Sprint(to)
	if was != is {
		*d = append(*d, fmt.Sprintf("%s from %q to %q", what, shorten(was), shorten(is)))
	}
}

// sentence says what is done to whom.
func (d diff) sentence(whom string) string { return "changes " + whom + ": " + strings.Join(d, ", ") }

// shorten keeps one long text from taking the room of all that follows.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
