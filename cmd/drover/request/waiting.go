package request

import (
	"context"
	"fmt"
	"time"

	"drover/cmd/drover/access"
	"drover/core/requests"
)

// faults counts faults of the platform; "" for none.
func faults(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, of the platform", n)
}

// ahead formats what goes before a waiting request; "" if that is not known.
func ahead(w *requests.Waiting) string {
	if w == nil || w.Ahead == nil {
		return ""
	}
	if w.AtLeast {
		return fmt.Sprintf("%d or more, by turns", *w.Ahead)
	}
	return fmt.Sprintf("%d, by turns", *w.Ahead)
}

// mayWait formats how long a request may still wait, and the basis of that; "" if it is not known.
func mayWait(w *requests.Waiting) string {
	if w == nil || w.Expected == nil {
		return ""
	}
	e := w.Expected
	return fmt.Sprintf("to wait %s to %s more, as the last %d of its pool took, with %d VMs",
		e.Least.Round(time.Second), e.Most.Round(time.Second), e.From, e.VMs)
}

// WhyWaits returns why a request is not being run yet, and what to do about it.
func WhyWaits(ctx context.Context, d access.Backend, id string) string {
	w, err := d.WhyRequestWaits(ctx, id)
	if err != nil {
		return "still waiting, and it cannot be said why: " + err.Error()
	}
	if w == nil {
		return "it waits no more"
	}
	text := "still waiting: " + w.Text
	if before := ahead(w); before != "" {
		text += "; ahead of it: " + before
	}
	if wait := mayWait(w); wait != "" {
		text += "; expected " + wait
	}
	return text
}
