package classes_test

import (
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// A comment is for staff until it is released, and then new to its student until the student sees it.
func TestCommentsAreReleased(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := submitted(w, 0)
	tess, ann := w.as("tess"), w.as("ann")
	_, err := w.reg.AddComment(t.Context(), tess, id, classes.NewComment{Text: "x", File: "none.py"})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	_, err = w.reg.AddComment(t.Context(), tess, id, classes.NewComment{Text: "x", Line: 3})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	_, err = w.reg.AddComment(t.Context(), tess, id, classes.NewComment{Text: "  "})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	c, err := w.reg.AddComment(t.Context(), tess, id, classes.NewComment{Text: "Name it", File: "main.py", Line: 3})
	require.NoError(t, err)
	require.Equal(t, 3, c.Last)

	count := func(a core.Actor) int {
		all, err := w.reg.Comments(t.Context(), a, id)
		require.NoError(t, err)
		return len(all)
	}
	unread := func() []classes.Unread {
		all, err := w.reg.UnreadComments(t.Context(), ann)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, 1, count(tess))
	require.Zero(t, count(ann))
	require.Equal(t, core.CodeNotFound, core.CodeOf(w.reg.EditComment(t.Context(), ann, c.ID, "y")), "a student does not learn of a draft")
	require.Empty(t, unread())
	n, err := w.reg.ReleaseComments(t.Context(), tess, id)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, count(ann))
	require.Equal(t, core.CodeForbidden, core.CodeOf(w.reg.EditComment(t.Context(), ann, c.ID, "y")))
	require.Len(t, unread(), 1)
	require.Equal(t, 1, unread()[0].Comments)
	require.NoError(t, w.reg.SeeComments(t.Context(), tess, id))
	require.Len(t, unread(), 1, "only its student sees it for the student")
	require.NoError(t, w.reg.SeeComments(t.Context(), ann, id))
	require.Empty(t, unread())
}

// A question is open until staff answer it.
func TestQuestionsAreCountedUntilAnswered(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := submitted(w, 0)
	tess, ann := w.as("tess"), w.as("ann")
	_, err := w.reg.Ask(t.Context(), ann, id, "Why?", "k")
	require.NoError(t, err)
	count := func(a core.Actor) []school.QuestionCount {
		all, err := w.reg.CountQuestions(t.Context(), a, []string{"cs101", "cs202"})
		require.NoError(t, err)
		return all
	}
	require.Len(t, count(tess), 1)
	require.Equal(t, 1, count(tess)[0].Open)
	require.Empty(t, count(ann))
	open, err := w.reg.OpenQuestions(t.Context(), tess, "cs101", count(tess)[0].Assignment, 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	_, err = w.reg.Answer(t.Context(), tess, id, "Because.", "")
	require.NoError(t, err)
	require.Empty(t, count(tess))
	unread, err := w.reg.UnreadComments(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, 1, unread[0].Answers)
}

// A comment goes to the outbox only if a webhook of the class asks for its event.
func TestCommentsAreToldToWebhooksThatAsk(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := submitted(w, 0)
	tess, ann := w.as("tess"), w.as("ann")
	talk := func() []string {
		_, err := w.reg.Ask(t.Context(), ann, id, "Why?", "")
		require.NoError(t, err)
		_, err = w.reg.Answer(t.Context(), tess, id, "So.", "")
		require.NoError(t, err)
		_, err = w.reg.AddComment(t.Context(), tess, id, classes.NewComment{Text: "Name it."})
		require.NoError(t, err)
		_, err = w.reg.ReleaseComments(t.Context(), tess, id)
		require.NoError(t, err)
		all, err := w.reg.Store.Outbox(t.Context(), 100)
		require.NoError(t, err)
		events := []string{}
		for _, n := range all {
			events = append(events, n.Event)
		}
		require.NoError(t, w.reg.Store.Sent(t.Context(), all))
		return events
	}
	require.Empty(t, talk())
	hook, err := w.reg.AddWebhook(t.Context(), tess, core.Webhook{Class: "cs101", URL: "https://example.org/hook", Events: []string{core.EventQuestionAsked, core.EventCommentReleased}})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{core.EventQuestionAsked, core.EventCommentReleased}, talk())
	hook.Events = []string{core.EventQuestionAnswered}
	_, err = w.reg.EditWebhook(t.Context(), tess, hook)
	require.NoError(t, err)
	require.Equal(t, []string{core.EventQuestionAnswered}, talk())
}
