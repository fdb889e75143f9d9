package intake

import (
	"context"
	"slices"
	"strings"

	"drover/core"
)

// checkNotify checks the webhooks that are to be told of the end of something about a
// class: that they are there, and of that class or of the herd. Returns INVALID, LIMIT,
// NOTFOUND.
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
