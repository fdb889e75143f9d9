package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Comment returns a draft of tess about a submission of ann to hw1.
func Comment(submission, id string) school.Comment {
	return school.Comment{
		ID: id, Submission: submission, Class: "cs101", Assignment: "hw1", User: "ann", Kind: school.CommentNote, By: "tess",
		Text: "Name *this*: ü", File: "src/a b.c", Line: 3, Last: 5, At: 7,
	}
}

// question returns one of ann about her submission s.
func question(id string) school.Comment {
	c := Comment("s", id)
	c.Kind, c.By, c.File, c.Line, c.Last, c.Released, c.Open = school.CommentQuestion, "ann", "", 0, 0, 7, true
	return c
}

func mustComment(t *testing.T, s school.ResultStore, all ...school.Comment) {
	t.Helper()
	for _, c := range all {
		require.NoError(t, s.AddComment(t.Context(), c))
	}
}

// someComments returns the ids of those that match.
func someComments(t *testing.T, s school.ResultStore, f school.CommentFilter) []string {
	t.Helper()
	all, err := s.ListComments(t.Context(), f)
	require.NoError(t, err)
	ids := []string{}
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

func comments(t *testing.T, s school.ResultStore) {
	School(t, s)
	c := Comment("s", "c1")
	mustComment(t, s, c, Comment("s", "c2"))
	got, err := s.GetComment(t.Context(), "c1")
	require.NoError(t, err)
	require.Equal(t, c, got)
	require.NoError(t, s.EditComment(t.Context(), "c1", "better \"so\" \U0001f600", 9))
	got, err = s.GetComment(t.Context(), "c1")
	require.NoError(t, err)
	c.Text, c.Edited = "better \"so\" \U0001f600", 9
	require.Equal(t, c, got)
	for want, f := range map[string]school.CommentFilter{
		"[c1 c2]": {Submission: "s"}, "[c2]": {Class: "cs101", Assignment: "hw1", User: "ann", Drafts: true, After: "c1"},
		"[c1]": {Limit: 1}, "[]": {Submission: "other"},
	} {
		require.Equal(t, want, fmt.Sprint(someComments(t, s, f)))
	}
	require.NoError(t, s.DeleteComment(t.Context(), "c1"))
	require.Equal(t, []string{"c2"}, someComments(t, s, school.CommentFilter{}))
}

func commentsOnce(t *testing.T, s school.ResultStore) {
	School(t, s)
	first := Comment("s", "c1")
	first.Idempotency = "k"
	mustComment(t, s, first)
	second := first
	second.ID = "c2"
	requireCode(t, core.CodeConflict, s.AddComment(t.Context(), second))
	second.By = "tom"
	mustComment(t, s, second)
	require.Equal(t, []string{"c1", "c2"}, someComments(t, s, school.CommentFilter{}))
	got, err := s.GetComment(t.Context(), "c1")
	require.NoError(t, err)
	require.Equal(t, "k", got.Idempotency)
}

func commentsAnswered(t *testing.T, s school.ResultStore) {
	School(t, s)
	mustComment(t, s, question("q1"), question("q2"), Comment("s", "c"))
	count := func() []school.QuestionCount {
		all, err := s.CountQuestions(t.Context(), []string{"cs101", "cs202"})
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []school.QuestionCount{{Class: "cs101", Assignment: "hw1", Open: 2}}, count())
	require.Equal(t, []string{"q1", "q2"}, someComments(t, s, school.CommentFilter{Class: "cs101", Assignment: "hw1", Open: true}))
	asked := func(f school.SubmissionFilter) []string {
		f.Class, f.Asked = "cs101", true
		all, err := s.ListSubmissions(t.Context(), f)
		require.NoError(t, err)
		ids := []string{}
		for _, one := range all {
			ids = append(ids, one.Submission.ID)
		}
		return ids
	}
	require.Equal(t, []string{"s"}, asked(school.SubmissionFilter{}), "once, for two questions")
	require.Equal(t, []string{"s"}, asked(school.SubmissionFilter{Assignment: "hw1", User: "ann"}))
	require.Empty(t, asked(school.SubmissionFilter{Before: "s"}))
	_, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{Asked: true})
	requireCode(t, core.CodeInvalid, err)
	answer := question("r")
	answer.Kind, answer.By, answer.Open, answer.Unread = school.CommentAnswer, "tess", false, true
	mustComment(t, s, answer)
	require.Empty(t, count())
	require.Empty(t, asked(school.SubmissionFilter{}))
	require.Equal(t, []string{"r"}, someComments(t, s, school.CommentFilter{User: "ann", Unread: true}))
	mustComment(t, s, question("u"))
	require.Equal(t, []school.QuestionCount{{Class: "cs101", Assignment: "hw1", Open: 1}}, count())
	none, err := s.CountQuestions(t.Context(), []string{"cs202"})
	require.NoError(t, err)
	require.Empty(t, none)
	none, err = s.CountQuestions(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func commentsReleased(t *testing.T, s school.ResultStore) {
	School(t, s)
	other := Submission("cs101", "hw1", "ann")
	other.ID = "z"
	mustCreateSubmission(t, s, other)
	mustComment(t, s, Comment("s", "c1"), Comment("s", "c2"), Comment("z", "c3"))
	release := func(submission string) int {
		n, err := s.ReleaseComments(t.Context(), "cs101", "hw1", submission, 9, false)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 2, release("s"))
	require.Zero(t, release("s"))
	require.Equal(t, []string{"c3"}, someComments(t, s, school.CommentFilter{Drafts: true}))
	require.Equal(t, []string{"c1", "c2"}, someComments(t, s, school.CommentFilter{User: "ann", Unread: true}))
	got, err := s.GetComment(t.Context(), "c1")
	require.NoError(t, err)
	require.Equal(t, int64(9), got.Released)
	require.NoError(t, s.SeeComments(t.Context(), "s"))
	require.NoError(t, s.SeeComments(t.Context(), "s"))
	require.Empty(t, someComments(t, s, school.CommentFilter{Unread: true}))
	require.Equal(t, 1, release(""))
	n, err := s.ReleaseComments(t.Context(), "cs101", "hw2", "", 9, true)
	require.NoError(t, err)
	require.Zero(t, n)
}

// commentsTold shows that a comment is in the outbox from when its student sees it, if somebody is to be notified.
func commentsTold(t *testing.T, s school.ResultStore) {
	School(t, s)
	of := func(event, id string) core.Notice { return core.Notice{Event: event, Key: core.Key(id, 1)} }
	quiet, draft, asked, answer := question("q1"), Comment("s", "c1"), question("q2"), question("a")
	draft.Tell, asked.Tell, answer.Tell = true, true, true
	answer.Kind, answer.Open = school.CommentAnswer, false
	mustComment(t, s, quiet, draft, asked, answer, Comment("s", "c2"))
	holds(t, s, of(core.EventQuestionAsked, "q2"), of(core.EventQuestionAnswered, "a"))
	requireCode(t, core.CodeConflict, s.AddComment(t.Context(), asked))
	for _, tell := range []bool{true, true} {
		_, err := s.ReleaseComments(t.Context(), "cs101", "hw1", "s", 9, tell)
		require.NoError(t, err)
	}
	all := []core.Notice{of(core.EventQuestionAsked, "q2"), of(core.EventQuestionAnswered, "a"), of(core.EventCommentReleased, "c1"), of(core.EventCommentReleased, "c2")}
	holds(t, s, all...)
	require.NoError(t, s.Sent(t.Context(), all[:3]))
	holds(t, s, all[3])
	require.NoError(t, s.Sent(t.Context(), all))
	holds(t, s)
	mustComment(t, s, Comment("s", "c3"))
	_, err := s.ReleaseComments(t.Context(), "cs101", "hw1", "", 9, false)
	require.NoError(t, err)
	holds(t, s)
}

func commentsRefuse(t *testing.T, s school.ResultStore) {
	School(t, s)
	mustComment(t, s, Comment("s", "c"))
	requireCode(t, core.CodeConflict, s.AddComment(t.Context(), Comment("s", "c")))
	requireCode(t, core.CodeNotFound, s.AddComment(t.Context(), Comment("none", "d")))
	requireCode(t, core.CodeNotFound, s.EditComment(t.Context(), "none", "x", 5))
	requireCode(t, core.CodeNotFound, s.DeleteComment(t.Context(), "none"))
	_, err := s.GetComment(t.Context(), "none")
	requireCode(t, core.CodeNotFound, err)
	for _, f := range []school.CommentFilter{{Assignment: "hw1"}, {Limit: -1}, {Limit: 1001}} {
		_, err := s.ListComments(t.Context(), f)
		requireCode(t, core.CodeInvalid, err)
	}
	_, err = s.ReleaseComments(t.Context(), "cs101", "hw1", "", 0, false)
	requireCode(t, core.CodeInvalid, err)
	for i := 1; i < school.MaxComments; i++ {
		mustComment(t, s, Comment("s", fmt.Sprintf("d%03d", i)))
	}
	requireCode(t, core.CodeLimit, s.AddComment(t.Context(), Comment("s", "e")))
}

func commentsDeleted(t *testing.T, s school.ResultStore) {
	School(t, s)
	mustComment(t, s, Comment("s", "c"), question("q"))
	removed, _, err := s.DeleteSubmissions(t.Context(), "cs101", "hw1", 10)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Empty(t, someComments(t, s, school.CommentFilter{}))
}
