package classes

import (
	"context"

	"drover/core"
)

// Watch returns FORBIDDEN if the actor may not look at the cluster: hosts, pools, queues.
func (r *Service) Watch(a core.Actor) error { return core.Allow(a, core.ActClusterView, core.Object{}) }

// Operate does something to the cluster, such as draining a host, and keeps it in the
// audit log: the text says in a sentence what, of what subject. Returns FORBIDDEN and
// whatever do does.
func (r *Service) Operate(ctx context.Context, a core.Actor, subject, text string, do func() error) error {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return err
	}
	return r.change(ctx, a, core.AuditEntry{Action: core.ActClusterOperate, Subject: subject, Text: text}, do)
}
