package classes

import (
	"context"
	"encoding/json"
	"strings"

	"drover/core"
	"drover/core/school"
)

// StartTask starts a task of a requestable kind, which makes a file for the actor. Returns INVALID, NOTFOUND,
// FORBIDDEN, CONFLICT.
func (r *Service) StartTask(ctx context.Context, a core.Actor, kind string, args json.RawMessage) (core.Task, error) {
	k, err := school.Requestable().Find(kind)
	if err != nil {
		return core.Task{}, err
	}
	target, err := r.mayStart(ctx, a, &k, args)
	if err != nil {
		return core.Task{}, err
	}
	var task core.Task
	what := "asks for the " + strings.ReplaceAll(k.Name, "_", " ") + " of " + target.About()
	if target.User != "" {
		what += ", those of " + target.User + " alone"
	}
	entry := core.AuditEntry{Action: core.ActExport, Class: target.Class, Subject: target.About(), Text: what}
	err = r.change(ctx, a, entry, func() (err error) {
		task, err = r.start(ctx, a, k.Name, target.About(), args)
		return err
	})
	return task, err
}

// mayStart checks the arguments of a requested task, and the right to it.
func (r *Service) mayStart(ctx context.Context, a core.Actor, k *core.TaskKind, args json.RawMessage) (core.TaskTarget, error) {
	t, err := k.Read(args)
	if err != nil {
		return t, err
	}
	act, owner := needed(a, k, t)
	switch k.About() {
	case core.ArgAssignment:
		_, err = r.openAssignment(ctx, a, t.Class, t.Assignment, act, owner)
	case core.ArgClass:
		_, err = r.openClass(ctx, a, t.Class, act)
	default:
	}
	return t, err
}

// needed returns the right that a task needs, and the owner of what it reads.
func needed(a core.Actor, k *core.TaskKind, t core.TaskTarget) (act core.Action, owner string) {
	if k.Own != "" && t.User != "" && t.User == a.Handle {
		return k.Own, t.User
	}
	return k.Right, ""
}
