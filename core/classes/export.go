package classes

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"drover/core"
)

// StartArchive starts the task that makes a zip of submissions: for who teaches there of
// anybody's, for others of their own. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) StartArchive(ctx context.Context, a core.Actor, args core.ArchiveArgs) (core.Task, error) {
	act, owner := archiving(a, args)
	as, err := r.openAssignment(ctx, a, args.Class, args.Assignment, act, owner)
	if err != nil {
		return core.Task{}, err
	}
	whose := "all submissions"
	if args.User != "" {
		if !core.ValidName(args.User) {
			return core.Task{}, noMember(args.Class, args.User)
		}
		whose = "the submissions of " + args.User
	}
	return r.export(ctx, a, core.KindArchive, as.Name(), as.Class, "an archive of "+whose+" to "+as.Name(), args)
}

// archiving is the right that an archive needs.
func archiving(a core.Actor, args core.ArchiveArgs) (act core.Action, owner string) {
	if args.User != "" && args.User == a.Handle {
		return core.ActSubmissionView, args.User
	}
	return core.ActExport, ""
}

// StartAssignmentCSV starts the task that writes an assignment's scores. Returns
// NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) StartAssignmentCSV(ctx context.Context, a core.Actor, args core.AssignmentCSVArgs) (core.Task, error) {
	as, err := r.openAssignment(ctx, a, args.Class, args.Assignment, core.ActExport, "")
	if err != nil {
		return core.Task{}, err
	}
	return r.export(ctx, a, core.KindAssignmentCSV, as.Name(), as.Class, "the scores of "+as.Name(), args)
}

// maxFill bounds what stands in a gradebook where there is no score.
const maxFill = 40

// StartGradebook starts the task that writes a class's scores. Returns NOTFOUND,
// FORBIDDEN, INVALID, CONFLICT.
func (r *Service) StartGradebook(ctx context.Context, a core.Actor, args core.GradebookArgs) (core.Task, error) {
	if _, err := r.openClass(ctx, a, args.Class, core.ActExport); err != nil {
		return core.Task{}, err
	}
	if err := checkFill(args); err != nil {
		return core.Task{}, err
	}
	return r.export(ctx, a, core.KindGradebook, args.Class, args.Class, "the gradebook of "+args.Class, args)
}

func checkFill(args core.GradebookArgs) error {
	if len(args.Fill) > maxFill || !utf8.ValidString(args.Fill) || strings.ContainsFunc(args.Fill, func(c rune) bool { return c < ' ' }) {
		return core.Errorf(core.CodeInvalid, args.Class, "what stands for a missing score must be at most %d bytes of one line", maxFill)
	}
	return nil
}

// export starts the task that makes a file for the actor.
func (r *Service) export(ctx context.Context, a core.Actor, kind, about, class, what string, args any) (core.Task, error) {
	var task core.Task
	entry := core.AuditEntry{Action: core.ActExport, Class: class, Subject: about, Text: fmt.Sprintf("asks for %s", what)}
	err := r.change(ctx, a, entry, func() (err error) {
		task, err = r.start(ctx, a, kind, about, args)
		return err
	})
	return task, err
}
