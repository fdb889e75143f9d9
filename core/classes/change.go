package classes

import (
	"context"
	"fmt"
	"strings"

	"drover/core"
	"drover/core/account/auditlog"
)

// change writes an entry to the audit log and then does what it says.
func (r *Service) change(ctx context.Context, a core.Actor, d core.AuditEntry, do func() error) error {
	return auditlog.Log{Store: r.Store, Now: r.now, NewID: r.newID}.Do(ctx, a, d, do)
}

// diff collects what an edit changes.
type diff []string

func (d *diff) note(what string, from, to any) {
	was, is := fmt.Sprint(from), fmt.Sprint(to)
	if was != is {
		*d = append(*d, fmt.Sprintf("%s from %q to %q", what, shorten(was), shorten(is)))
	}
}

// sentence describes the changes to a subject.
func (d diff) sentence(whom string) string { return "changes " + whom + ": " + strings.Join(d, ", ") }

// shorten keeps one long text from displacing all that follows.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
