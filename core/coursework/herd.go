package coursework

import (
	"context"

	"drover/core"
)

// Watch returns FORBIDDEN if the actor may not look at the herd: hosts, pools, queues.
func (r *Registrar) Watch(a core.Actor) error { return core.Allow(a, core.ActHerdView, core.Object{}) }

// Operate does something to the herd, such as draining a host, and keeps it in the
// trail: the text says in a sentence what, of what subject. Returns FORBIDDEN and
// whatever do does.
func (r *Registrar) Operate(ctx context.Context, a core.Actor, subject, text string, do func() error) error {
	if err := core.Allow(a, core.ActHerdOperate, core.Object{}); err != nil {
		return err
	}
	return r.change(ctx, a, core.Deed{Action: core.ActHerdOperate, Subject: subject, Text: text}, do)
}
