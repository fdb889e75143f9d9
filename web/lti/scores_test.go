package lti_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	service "drover/core/classes/lti"
	"drover/core/classes/lti/ltitest"
	"drover/core/school"
)

// graded is a fixture in which sue and tom came by a link that has a column in the platform's gradebook.
func graded(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	w.connected()
	w.platform.Knows(func() jose.JSONWebKeySet {
		set, err := w.lti.JWKS(t.Context())
		require.NoError(t, err)
		return set
	})
	for _, who := range []string{"sue", "tom"} {
		leads(t, w.browser().come(who, "Learner", func(c map[string]any) {
			c["https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"] = map[string]any{"lineitem": w.platform.LineItem(), "scope": []string{}}
		}))
	}
	return w
}

// grade has a user submit and a person give it a score.
func (w *fixture) grade(user string, score float64) school.Submission {
	w.t.Helper()
	ctx := w.t.Context()
	sub := school.Submission{
		ID: strings.ToLower(ulid.Make().String()), Class: "cs101", Assignment: "hw1", User: user, Kind: "public", At: time.Now().UnixMilli(),
		Files: []core.File{{Path: "a.py", Digest: strings.Repeat("a", 64), Size: 1}},
	}
	_, _, err := w.store.CreateSubmission(ctx, sub, nil)
	require.NoError(w.t, err)
	w.regrade(sub, score)
	return sub
}

func (w *fixture) regrade(sub school.Submission, score float64) {
	w.t.Helper()
	most := 10.0
	require.NoError(w.t, w.store.SetGrade(w.t.Context(), sub.ID, &school.Grade{Score: score, MaxScore: &most, By: "tess", At: time.Now().UnixMilli()}))
}

// round sends what is due, as a site does that has just started.
func (w *fixture) round(again ...*service.Service) (int, error) {
	w.t.Helper()
	s := w.lti
	if len(again) > 0 {
		s = again[0]
	}
	limits := s.Limits
	defer func() { s.Limits = limits }()
	s.Limits = unlimited{}
	return s.Round(w.t.Context())
}

// unlimited lets rounds follow one another at once.
type unlimited struct{ core.Limiter }

func (unlimited) Take(context.Context, string, core.Rate, int) (core.Allowance, error) {
	return core.Allowance{Allowed: true}, nil
}

// What counts goes to the platform once, and again when it changes, with later and later times.
func TestScoresAreSent(t *testing.T) {
	t.Parallel()
	w := graded(t)
	n, err := w.round()
	require.NoError(t, err)
	require.Zero(t, n, "nothing was submitted")
	sub := w.grade("sue", 7)
	n, err = w.round()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	scores, _ := w.platform.Scores()
	require.Equal(t, "sue", scores[0]["userId"])
	require.EqualValues(t, 7, scores[0]["scoreGiven"])
	require.EqualValues(t, 10, scores[0]["scoreMaximum"])
	require.Equal(t, "FullyGraded", scores[0]["gradingProgress"])
	n, err = w.round()
	require.NoError(t, err)
	require.Zero(t, n, "the platform has it")
	w.regrade(sub, 8)
	w.grade("tom", 3)
	n, err = w.round()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	scores, tokens := w.platform.Scores()
	require.Equal(t, 1, tokens, "a token is kept until it expires")
	at := func(i int) time.Time {
		text, _ := scores[i]["timestamp"].(string)
		when, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		return when
	}
	for i, s := range scores[1:] {
		if s["userId"] == "sue" {
			require.EqualValues(t, 8, s["scoreGiven"])
			require.True(t, at(i+1).After(at(0)))
		}
	}
	require.NoError(t, w.store.SetGrade(t.Context(), sub.ID, nil))
	_, err = w.round()
	require.NoError(t, err)
	scores, _ = w.platform.Scores()
	require.Equal(t, "Pending", scores[len(scores)-1]["gradingProgress"], "a score that was removed")
}

// A platform that does not answer gets the score later, also from another process than the one that failed, and once.
func TestScoresSurvive(t *testing.T) {
	t.Parallel()
	w := graded(t)
	w.grade("sue", 7)
	w.platform.Fail(true)
	n, err := w.round()
	require.ErrorContains(t, err, "status 503")
	require.Zero(t, n)
	n, err = w.round()
	require.NoError(t, err, "a link that failed is left alone for a while")
	require.Zero(t, n)
	w.platform.Fail(false)
	another := w.service(w.lti.Limits, w.lti.URL, w.lti.Classes)
	n, err = w.round(another)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	now := time.Now().Add(time.Hour)
	w.lti.Now = func() time.Time { return now }
	n, err = w.round()
	require.NoError(t, err)
	require.Zero(t, n)
	scores, _ := w.platform.Scores()
	require.Len(t, scores, 1)
	w.grade("tom", 3)
	n, err = another.Round(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	w.grade("tom", 4)
	n, err = another.Round(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "one round in half a minute")
}

// A platform without a gradebook, and a key that the platform does not know.
func TestScoresNeedAGradebook(t *testing.T) {
	t.Parallel()
	w := graded(t)
	w.grade("sue", 7)
	w.platform.Knows(func() jose.JSONWebKeySet {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{ltitest.NewKey(t, "x", 2048).Public()}}
	})
	_, err := w.round()
	require.ErrorContains(t, err, "status 401")
	p, err := w.lti.Platform(t.Context(), root, "moodle")
	require.NoError(t, err)
	p.TokenURL = ""
	_, err = w.lti.PutPlatform(t.Context(), root, p)
	require.NoError(t, err)
	n, err := w.round(w.service(w.lti.Limits, w.lti.URL, w.lti.Classes))
	require.NoError(t, err)
	require.Zero(t, n)
}

// Staff see on the pages of the class and of the assignment which scores were sent, which wait and why one failed, and
// have them sent at once.
func TestStateOfScores(t *testing.T) {
	t.Parallel()
	w := graded(t)
	b := w.browser()
	leads(t, b.come("tess", "Instructor"))
	require.Contains(t, plain(b.get(roster)), "Computer science")
	require.Contains(t, plain(b.get(roster)), "nothing yet")
	w.grade("sue", 7)
	w.grade("tom", 3)
	require.Contains(t, plain(b.get(roster)), "Homework Moodle of the school 0 – 2 are waiting Send now")
	w.platform.Fail(true)
	_, err := w.round()
	require.Error(t, err)
	require.Regexp(t, `failed 127\.0\.0\.1:\d+ answers with status 503`, plain(b.get(roster)))
	link := url.Values{"link": {(&school.LTILink{Platform: "moodle", Deployment: ltitest.Deployment, Context: "course-1", Link: "link-1"}).ID()}}
	again := b.post(roster+"/scores", link)
	require.Equal(t, http.StatusUnprocessableEntity, again.Code)
	require.Contains(t, plain(again), "The scores cannot be sent")
	w.platform.Fail(false)
	of := "/classes/cs101/assignments/hw1/platform"
	require.Regexp(t, `Name of sue sue – – waiting 7 / 10 Name of tom tom – – waiting 3 / 10`, plain(b.get(of)))
	link.Set("assignment", "hw1")
	path, _ := leads(t, b.post(roster+"/scores", link))
	require.Equal(t, of, path)
	shown := plain(b.get(of))
	require.Contains(t, shown, "2 scores were sent.")
	require.Contains(t, shown, "all sent")
	require.Regexp(t, `sue 7 / 10 .* – Name of tom tom 3 / 10`, shown)
	require.Contains(t, plain(b.get(roster)), "Homework Moodle of the school 2")
	n, err := w.round()
	require.NoError(t, err)
	require.Zero(t, n, "they were sent already")
	link.Set("link", strings.Repeat("0", 40))
	require.Equal(t, http.StatusNotFound, b.post(roster+"/scores", link).Code)
	student := w.browser()
	leads(t, student.come("sue", "Learner"))
	require.Equal(t, http.StatusForbidden, student.get(roster).Code)
	require.Equal(t, http.StatusForbidden, student.get(of).Code)
	require.Equal(t, http.StatusForbidden, student.post(roster+"/scores", link).Code)
	require.Equal(t, http.StatusForbidden, student.post(roster+"/members", url.Values{"course": {"x"}}).Code)
}
