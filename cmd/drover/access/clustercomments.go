package access

import (
	"context"

	"drover/core/classes"
	"drover/core/school"
)

func (s *Session) Comments(ctx context.Context, submission string) ([]school.Comment, error) {
	return s.Reg.Comments(ctx, s.Actor, submission)
}

func (s *Session) AddComment(ctx context.Context, submission string, n classes.NewComment) (school.Comment, error) {
	return s.Reg.AddComment(ctx, s.Actor, submission, n)
}

func (s *Session) ReleaseComments(ctx context.Context, submission string) (int, error) {
	return s.Reg.ReleaseComments(ctx, s.Actor, submission)
}

func (s *Session) Ask(ctx context.Context, submission, text string) (school.Comment, error) {
	return s.Reg.Ask(ctx, s.Actor, submission, text)
}

func (s *Session) Answer(ctx context.Context, submission, text string) (school.Comment, error) {
	return s.Reg.Answer(ctx, s.Actor, submission, text)
}
