package intake

import (
	"context"
	"slices"
	"strings"

	"drover/core"
)

// checkCallback checks the compatible API that is to notify somebody of the request's end. Returns INVALID, and FULL
// if too many earlier messages to the submitter were not accepted.
func (in *Intake) checkCallback(ctx context.Context, s *core.Spec) error {
	if s.Callback == "" {
		return nil
	}
	if err := core.CheckName("callback", s.Callback); err != nil {
		return err
	}
	if s.Attachment == nil {
		return invalid(s, "callback %s has no attachment, which says whom to tell", s.Callback)
	}
	open, err := in.Store.ListTasks(ctx, core.TaskFilter{
		Kind: core.KindCallback, Lane: s.Submitter, States: []core.TaskState{core.TaskQueued}, Limit: maxOpenTasks,
	})
	if err == nil && len(open) >= maxOpenTasks {
		err = core.Errorf(core.CodeFull, s.Submitter, "%d callbacks for %s have not been taken: see to it that what they are sent to answers", len(open), s.Submitter)
	}
	return err
}

// checkNotify checks that the webhooks to be notified exist, and belong to the class or to the cluster. Returns
// INVALID, LIMIT, NOTFOUND.
func (in *Intake) checkNotify(ctx context.Context, id, about string, webhooks []string) error {
	if len(webhooks) > core.MaxNotify {
		return core.Errorf(core.CodeLimit, id, "%d webhooks are to be told, at most %d are allowed", len(webhooks), core.MaxNotify)
	}
	class, _, _ := strings.Cut(about, "/")
	for i, name := range webhooks {
		if err := core.CheckName("webhook", name); err != nil {
			return err
		}
		if slices.Contains(webhooks[:i], name) {
			return core.Errorf(core.CodeInvalid, id, "webhook %s is named twice", name)
		}
		w, err := in.Store.GetWebhook(ctx, name)
		if err != nil {
			return err
		}
		if w.Class != "" && w.Class != class {
			return core.Errorf(core.CodeInvalid, id, "webhook %s is told of what happens in class %s only", name, w.Class)
		}
	}
	return nil
}
