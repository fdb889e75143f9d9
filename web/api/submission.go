package api

import (
	"context"
	"io"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func submissionTable() []entry {
	return []entry{
		is(Operation{"submit", post, "/classes/{class}/assignments/{assignment}/submissions", core.ActSubmit, school.ScopeSubmit, 201, "Submit files, as multipart/form-data"}, (*server).submit),
		is(Operation{"submitGit", post, "/classes/{class}/assignments/{assignment}/submissions/git", core.ActSubmit, school.ScopeSubmit, 201, "Submit a commit of a public Git repository, which the site fetches"}, (*server).submitGit),
		is(Operation{"listSubmissions", get, "/classes/{class}/submissions", core.ActClassView, school.ScopeRead, 0, "List submissions of a class, newest first: the caller's, or all for staff"}, (*server).listSubmissions),
		is(Operation{"listAssignmentSubmissions", get, "/classes/{class}/assignments/{assignment}/submissions", core.ActAssignmentView, school.ScopeRead, 0, "List submissions to an assignment, newest first: the caller's, or all for staff"}, (*server).listAssignmentSubmissions),
		is(Operation{"viewSubmission", get, "/submissions/{id}", core.ActSubmissionView, school.ScopeRead, 0, "Return a submission and its result"}, (*server).viewSubmission),
		is(Operation{"downloadSubmissionFile", get, "/submissions/{id}/files/{path}", core.ActSubmissionView, school.ScopeRead, 0, "Download one file of a submission"}, (*server).submissionFile),
		is(Operation{"downloadSubmission", get, "/submissions/{id}/zip", core.ActSubmissionView, school.ScopeRead, 0, "Download a submission as a zip"}, (*server).submissionZip),
		is(Operation{"resubmit", post, "/submissions/{id}/resubmit", core.ActSubmissionRerun, school.ScopeSubmit, 202, "Test a submission again"}, (*server).resubmit),
		is(Operation{"cancelSubmission", post, "/submissions/{id}/cancel", core.ActSubmissionRerun, school.ScopeSubmit, 202, "Cancel the tests of a submission"}, (*server).cancelSubmission),
	}
}

// SubmissionFields are the fields of a submission besides its files.
type SubmissionFields struct {
	InAssignment
	User string `query:"user" maxLength:"64" doc:"owner of the submission, for staff; the caller by default"`
	Kind string `query:"kind" enum:"public,final" default:"public"`
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"any text: a repeat with the same key returns the same submission and creates none"`
}

func (in *SubmissionFields) draft() classes.NewSubmission {
	return classes.NewSubmission{Class: in.Class, Assignment: in.Assignment, User: in.User, Kind: in.Kind, Idempotency: in.Key}
}

// submitted is the answer to a submission.
type submitted struct {
	Location string `header:"Location"`
	Body     school.Submission
}

func (s *server) submitDraft(ctx context.Context, a core.Actor, n classes.NewSubmission) (*submitted, error) {
	made, err := s.Classes.Submit(ctx, a, n)
	if err != nil {
		return nil, err
	}
	return &submitted{at("submissions", made.ID), made}, nil
}

func (s *server) submit(ctx context.Context, a core.Actor, in *SubmissionFields) (*submitted, error) {
	n := in.draft()
	n.Files = s.uploads(ctx)
	return s.submitDraft(ctx, a, n)
}

// GitCommit is what is submitted from Git.
type GitCommit struct {
	Address string `json:"address" maxLength:"300" doc:"of the repository, by https, such as https://github.com/ann/hw1" example:"https://github.com/ann/hw1"`
	Ref     string `json:"ref,omitempty" maxLength:"200" doc:"branch, tag or commit; the default branch if it is left out" example:"main"`
}

func (s *server) submitGit(ctx context.Context, a core.Actor, in *struct {
	SubmissionFields
	Body GitCommit
},
) (*submitted, error) {
	return s.submitDraft(ctx, a, s.Repositories.Submission(ctx, in.draft(), in.Body.Address, in.Body.Ref))
}

// SubmissionList is what selects submissions.
type SubmissionList struct {
	Cursor
	User  string `query:"user" maxLength:"64" doc:"only those of this user"`
	Asked bool   `query:"asked" doc:"only those with a question that has no answer"`
}

func (s *server) submissions(ctx context.Context, a core.Actor, class, assignment string, in SubmissionList) (*listed[classes.SubmissionEntry], error) {
	found, err := s.Classes.ListSubmissions(ctx, a, school.SubmissionFilter{
		Class: class, Assignment: assignment, User: in.User, Asked: in.Asked, Before: in.Cursor.Cursor, Limit: in.more(),
	})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(e *classes.SubmissionEntry) string { return e.Submission.ID }), nil
}

func (s *server) listSubmissions(ctx context.Context, a core.Actor, in *struct {
	InClass
	SubmissionList
},
) (*listed[classes.SubmissionEntry], error) {
	return s.submissions(ctx, a, in.Class, "", in.SubmissionList)
}

func (s *server) listAssignmentSubmissions(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	SubmissionList
},
) (*listed[classes.SubmissionEntry], error) {
	return s.submissions(ctx, a, in.Class, in.Assignment, in.SubmissionList)
}

// One names a thing by its id.
type One struct {
	ID string `path:"id"`
}

func (s *server) viewSubmission(ctx context.Context, a core.Actor, in *One) (*answer[classes.SubmissionView], error) {
	return answered(s.Classes.ViewSubmission(ctx, a, in.ID))
}

func (s *server) submissionFile(ctx context.Context, a core.Actor, in *struct {
	One
	Path string `path:"path" doc:"path of the file in the submission; may contain slashes"`
},
) (*download, error) {
	file, content, err := s.Classes.OpenFile(ctx, a, in.ID, in.Path)
	if err != nil {
		return nil, err
	}
	return s.saved(ctx, "downloadSubmissionFile", file.Path, file.Size, copied(content)), nil
}

func (s *server) submissionZip(ctx context.Context, a core.Actor, in *One) (*download, error) {
	zip, err := s.Classes.OpenZip(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return s.saved(ctx, "downloadSubmission", zip.Name, -1, func(to io.Writer) error { return zip.Write(ctx, to) }), nil
}

func (s *server) resubmit(ctx context.Context, a core.Actor, in *One) (*answer[classes.SubmissionView], error) {
	if err := s.Classes.Resubmit(ctx, a, in.ID); err != nil {
		return nil, err
	}
	return s.viewSubmission(ctx, a, in)
}

// Stopped is the new state of what was cancelled.
type Stopped struct {
	State core.RequestState `json:"state"`
}

func (s *server) cancelSubmission(ctx context.Context, a core.Actor, in *One) (*answer[Stopped], error) {
	state, err := s.Classes.CancelSubmission(ctx, a, in.ID)
	return answered(Stopped{state}, err)
}
