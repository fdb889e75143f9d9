package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func commentTable() []entry {
	return []entry{
		is(Operation{"listComments", get, "/submissions/{id}/comments", core.ActSubmissionView, school.ScopeRead, 0, "List the comments, questions and answers of a submission, oldest first; drafts to staff only"}, (*server).listComments),
		is(Operation{"addComment", post, "/submissions/{id}/comments", core.ActComment, school.ScopeTeach, 201, "Add a comment, a draft until it is released"}, (*server).addComment),
		is(Operation{"releaseComments", post, "/submissions/{id}/comments/release", core.ActComment, school.ScopeTeach, 0, "Show the drafts on a submission to its student"}, (*server).releaseComments),
		is(Operation{"editComment", patch, "/comments/{id}", core.ActComment, school.ScopeSubmit, 0, "Replace the text of a comment or answer, for staff, or of one's own question"}, (*server).editComment),
		is(Operation{"deleteComment", remove, "/comments/{id}", core.ActComment, school.ScopeSubmit, 204, "Delete a comment or answer, for staff, or one's own question"}, (*server).deleteComment),
		is(Operation{"askQuestion", post, "/submissions/{id}/questions", core.ActAsk, school.ScopeSubmit, 201, "Ask the staff about one's own submission"}, (*server).askQuestion),
		is(Operation{"answerQuestions", post, "/submissions/{id}/answers", core.ActComment, school.ScopeTeach, 201, "Answer all open questions about a submission"}, (*server).answerQuestions),
	}
}

func (s *server) listComments(ctx context.Context, a core.Actor, in *One) (*answer[Page[school.Comment]], error) {
	return all(s.Classes.Comments(ctx, a, in.ID))
}

// Said is a text about a submission.
type Said struct {
	Text string `json:"text" doc:"Markdown"`
}

// CommentFields are a comment of staff.
type CommentFields struct {
	Said
	File string `json:"file,omitempty" doc:"path of a file of the submission; omit for a comment on all of it"`
	Line int    `json:"line,omitempty" minimum:"0" doc:"first line in the file; omit for a comment on the whole file"`
	Last int    `json:"last,omitempty" minimum:"0" doc:"last line; the first by default"`
}

// OnceKey makes a call that adds something repeatable.
type OnceKey struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"any text: a repeat with the same key and content returns the same comment and adds none"`
}

func (s *server) editComment(ctx context.Context, a core.Actor, in *struct {
	One
	Body Said
},
) (*done, error) {
	return &done{}, s.Classes.EditComment(ctx, a, in.ID, in.Body.Text)
}

func (s *server) deleteComment(ctx context.Context, a core.Actor, in *One) (*done, error) {
	return &done{}, s.Classes.DeleteComment(ctx, a, in.ID)
}

func (s *server) addComment(ctx context.Context, a core.Actor, in *struct {
	One
	OnceKey
	Body CommentFields
},
) (*answer[school.Comment], error) {
	b := in.Body
	return answered(s.Classes.AddComment(ctx, a, in.ID, classes.NewComment{Text: b.Text, File: b.File, Line: b.Line, Last: b.Last, Key: in.Key}))
}

// Released is how many comments a student sees from now on.
type Released struct {
	Released int `json:"released"`
}

func (s *server) releaseComments(ctx context.Context, a core.Actor, in *One) (*answer[Released], error) {
	n, err := s.Classes.ReleaseComments(ctx, a, in.ID)
	return answered(Released{n}, err)
}

func (s *server) askQuestion(ctx context.Context, a core.Actor, in *struct {
	One
	OnceKey
	Body Said
},
) (*answer[school.Comment], error) {
	return answered(s.Classes.Ask(ctx, a, in.ID, in.Body.Text, in.Key))
}

func (s *server) answerQuestions(ctx context.Context, a core.Actor, in *struct {
	One
	OnceKey
	Body Said
},
) (*answer[school.Comment], error) {
	return answered(s.Classes.Answer(ctx, a, in.ID, in.Body.Text, in.Key))
}
