package access

import (
	"context"

	"drover/core/classes"
	"drover/core/school"
)

// Comments returns those on a submission, as classes.Service.Comments does.
func (s *Session) Comments(ctx context.Context, submission string) ([]school.Comment, error) {
	return s.Reg.Comments(ctx, s.Actor, submission)
}

// AddComment comments on a submission, as classes.Service.AddComment does.
func (s *Session) AddComment(ctx context.Context, submission string, n classes.NewComment) (school.Comment, error) {
	return s.Reg.AddComment(ctx, s.Actor, submission, n)
}

// ReleaseComments shows the drafts to the student, as classes.Service.ReleaseComments does.
func (s *Session) ReleaseComments(ctx context.Context, submission string) (int, error) {
	return s.Reg.ReleaseComments(ctx, s.Actor, submission)
}

// Ask asks about a submission, as classes.Service.Ask does.
func (s *Session) Ask(ctx context.Context, submission, text, key string) (school.Comment, error) {
	return s.Reg.Ask(ctx, s.Actor, submission, text, key)
}

// Answer answers the questions about a submission, as classes.Service.Answer does.
func (s *Session) Answer(ctx context.Context, submission, text, key string) (school.Comment, error) {
	return s.Reg.Answer(ctx, s.Actor, submission, text, key)
}

// EditComment replaces the text of a comment, as classes.Service.EditComment does.
func (s *Session) EditComment(ctx context.Context, id, text string) error {
	return s.Reg.EditComment(ctx, s.Actor, id, text)
}

// DeleteComment deletes a comment, as classes.Service.DeleteComment does.
func (s *Session) DeleteComment(ctx context.Context, id string) error {
	return s.Reg.DeleteComment(ctx, s.Actor, id)
}
