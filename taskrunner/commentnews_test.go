package taskrunner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"
)

// A question, an answer and a released comment are told once to the webhooks of the class that ask for them; a draft and
// a comment that is gone are told to nobody, nor is anything to those that ask for ends.
func TestCommentsAreTold(t *testing.T) {
	t.Parallel()
	at, other := newReceiver(t, statuses(200)), newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		storetest.School(t, r.store)
		w := r.hook(at)
		w.Events = core.CommentEvents()
		_, err := r.store.PutWebhook(t.Context(), w)
		require.NoError(t, err)
		r.hook(other)
		add := func(id string, kind school.CommentKind) {
			c := storetest.Comment("s", id)
			c.Kind, c.Tell, c.Open = kind, true, kind == school.CommentQuestion
			if kind != school.CommentNote {
				c.Released = time.Now().UnixMilli()
			}
			require.NoError(t, r.store.AddComment(t.Context(), c))
		}
		for id, kind := range map[string]school.CommentKind{"q1": school.CommentQuestion, "q2": school.CommentQuestion, "a1": school.CommentAnswer, "c1": school.CommentNote} {
			add(id, kind)
		}
		require.NoError(t, r.store.DeleteComment(t.Context(), "q2"))
		r.begin()
		told := func() map[string]string {
			settle(time.Minute)
			all := map[string]string{}
			for _, c := range at.got() {
				all[about(t, c).Data.ID] = about(t, c).Type
			}
			require.Len(t, all, len(at.got()), "each once")
			return all
		}
		want := map[string]string{"q1": core.EventQuestionAsked, "a1": core.EventQuestionAnswered}
		require.Equal(t, want, told())
		_, err = r.store.ReleaseComments(t.Context(), "cs101", "hw1", "", time.Now().UnixMilli(), true)
		require.NoError(t, err)
		want["c1"] = core.EventCommentReleased
		require.Equal(t, want, told())
		left, err := r.store.Outbox(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, left)
		require.Empty(t, other.got())
		r.end()
	})
}
