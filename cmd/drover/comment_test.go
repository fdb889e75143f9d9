package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/classes"
	"drover/core/school"
)

// Staff and students talk about a submission by the command line, through the site and on the cluster itself.
func TestCommentsByTheCommandLine(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	for _, line := range []string{
		"pool set default", "user add tom", "user add ann", "user add bob", "class add cs101", "class enrol --role teacher cs101 tom",
		"class enrol cs101 ann", "class enrol cs101 bob", "assignment add cs101/hw1",
	} {
		h.said(strings.Fields(line)...)
	}
	id := strings.TrimSpace(h.said("submit", "--as", "ann", "--no-wait", "--to", "cs101/hw1", "comment_test.go"))
	h.said("submit", "--as", "bob", "--no-wait", "--to", "cs101/hw1", "comment_test.go")
	s := newTestSite(t, h.cluster)
	s.login("tom")
	staffComment(t, s, id)
	s.login("ann")
	studentAsks(t, s, id)
	asked(t, h, s, id)

	s.login("tom")
	s.said("submission", "answer", "--key", "a1", id, "The last line is missing.")
	require.Contains(t, s.said("submission", "list", "--asked", "cs101"), "no submissions")
	require.Contains(t, s.said("submission", "comments", id), "The last line is missing.")
	s.login("bob")
	s.refused(terminal.ExitNotFound, id, "submission", "comments", id)
	s.refused(terminal.ExitNotFound, id, "submission", "comment", id, "Mine")
}

// said are the comments on a submission, as a command lists them.
func commentsSaid(t *testing.T, out string) []school.Comment {
	t.Helper()
	var all []school.Comment
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	return all
}

func staffComment(t *testing.T, s *testSite, id string) {
	t.Helper()
	require.Contains(t, s.said("submission", "comments", id), "no comments")
	add := []string{"submission", "comment", "--key", "c1", "--file", "./comment_test.go", "--line", "3", "--last", "5", id, "Give it a name."}
	note := strings.TrimSpace(s.said(add...))
	require.Equal(t, note, strings.TrimSpace(s.said(add...)), "the same key adds nothing")
	s.refused(terminal.ExitRefused, "use another key", "submission", "comment", "--key", "c1", id, "Something else")
	all := commentsSaid(t, s.said("submission", "comments", "--json", id))
	require.Len(t, all, 1)
	require.Equal(t, []any{note, "comment_test.go", 3, 5}, []any{all[0].ID, all[0].File, all[0].Line, all[0].Last})
	require.Regexp(t, note+`.* draft +\S*comment_test.go:3-5 +Give it a name`, s.said("submission", "comments", id))

	s.refused(terminal.ExitUsage, "submission id", "submission", "comment", id)
	s.refused(terminal.ExitUsage, "name one of its files", "submission", "comment", "--file", "none.py", id, "x")
	s.refused(terminal.ExitUsage, "", "submission", "comment", "--line", "3", id, "x")
	s.refused(terminal.ExitUsage, "", "submission", "comment", "--file", "comment_test.go", "--line", "-3", id, "x")
	s.refused(terminal.ExitUsage, "", "submission", "comment", id, " ")
	s.refused(terminal.ExitNotFound, "nowhere", "submission", "comment", "nowhere", "x")
	s.refused(terminal.ExitUsage, "comment id", "submission", "comment-edit", note)
	s.refused(terminal.ExitUsage, "comment id", "submission", "comment-remove")
	s.refused(terminal.ExitNotFound, "nowhere", "submission", "comment-edit", "nowhere", "x")
	s.refused(terminal.ExitNotFound, "nowhere", "submission", "comment-remove", "nowhere")

	require.Contains(t, s.said("submission", "comment-edit", note, "Name it total."), "is changed")
	require.Contains(t, s.said("submission", "release", id), "sees 1 more comments")
	second := strings.TrimSpace(s.said("submission", "comment", id, "Never mind."))
	require.Contains(t, s.said("submission", "comment-remove", second), "is deleted")
	all = commentsSaid(t, s.said("submission", "comments", "--json", id))
	require.Len(t, all, 1)
	require.Equal(t, "Name it total.", all[0].Text)
}

func studentAsks(t *testing.T, s *testSite, id string) {
	t.Helper()
	note := commentsSaid(t, s.said("submission", "comments", "--json", id))[0].ID
	s.refused(terminal.ExitRefused, "may not", "submission", "comment", id, "x")
	s.refused(terminal.ExitRefused, "may not", "submission", "comment-edit", note, "x")
	s.refused(terminal.ExitRefused, "may not", "submission", "comment-remove", note)
	s.refused(terminal.ExitRefused, "may not", "submission", "release", id)
	question := strings.TrimSpace(s.said("submission", "ask", "--key", "q1", id, "Why?"))
	require.Equal(t, question, strings.TrimSpace(s.said("submission", "ask", "--key", "q1", id, "Why?")))
	require.Contains(t, s.said("submission", "comment-edit", question, "Why is test 3 wrong?"), "is changed")
	require.Regexp(t, question+`.* open question .*Why is test 3 wrong`, s.said("submission", "comments", id))
}

// asked requires that --asked lists the submission with a question and no other, wherever it is.
func asked(t *testing.T, h *testCluster, s *testSite, id string) {
	t.Helper()
	s.login("tom")
	for _, line := range []string{"submission list --asked --json", "submission list --asked --json cs101", "submission list --asked --json cs101/hw1", "assignment submissions --asked --json cs101/hw1"} {
		for _, out := range []string{s.said(strings.Fields(line)...), h.said(append(strings.Fields(line), "--as", "tom")...)} {
			var all []classes.SubmissionEntry
			require.NoError(t, json.Unmarshal([]byte(out), &all), line)
			require.Len(t, all, 1, line)
			require.Equal(t, id, all[0].Submission.ID, line)
		}
	}
	require.Contains(t, s.said("submission", "list", "--asked", "--user", "bob", "cs101"), "no submissions")
	s.refused(terminal.ExitUsage, "CLASS/ASSIGNMENT", "assignment", "submissions", "--asked")
	s.refused(terminal.ExitUsage, "at most one", "submission", "list", "--asked", "cs101", "cs102")
	s.refused(terminal.ExitUsage, "", "submission", "list", "--asked=perhaps")
}
