package course

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/classes"
	"drover/core/school"
)

// backend knows a class, its submissions and deadlines.
type backend struct {
	access.Backend

	deadlines   []school.Deadline
	submissions []string // ids, the newest first
}

func (b backend) Deadlines(context.Context, string, string, string) ([]school.Deadline, error) {
	return b.deadlines, nil
}

func (b backend) FindClass(context.Context, string) (school.Class, error) {
	return school.Class{Handle: "cs101"}, nil
}

func (b backend) ListSubmissions(context.Context, school.SubmissionFilter) (all []classes.SubmissionEntry, err error) {
	for _, id := range b.submissions {
		e := classes.SubmissionEntry{}
		e.Submission.ID = id
		all = append(all, e)
	}
	return all, nil
}

func TestADateLeavesTheOtherAsItIs(t *testing.T) {
	t.Parallel()
	b := backend{deadlines: []school.Deadline{{Due: 1, Cutoff: 2}}}
	var own school.Deadline
	app := &cli.App{Flags: deadlineFlags(), Action: func(c *cli.Context) (err error) {
		own, err = newDeadline(c, b, school.Assignment{}, own)
		return err
	}}
	require.NoError(t, app.Run([]string{"drover", "--due", "2026-12-01T00:00:00Z"}))
	require.EqualValues(t, 1796083200000, own.Due)
	require.EqualValues(t, 2, own.Cutoff)
}

func TestTheNewestSubmissionsAreFirst(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	app := &cli.App{
		Writer: &out, ErrWriter: io.Discard, Flags: append(terminal.PageFlags("before", "ID"), terminal.ZoneFlag()),
		Action: func(c *cli.Context) error {
			return listSubmissions(c, backend{submissions: []string{"s3", "s2", "s1"}})
		},
	}
	require.NoError(t, app.Run([]string{"drover", "--limit", "2", "cs101"}))
	require.Contains(t, out.String(), "s3")
	require.Less(t, strings.Index(out.String(), "s3"), strings.Index(out.String(), "s2"))
	require.NotContains(t, out.String(), "s1")
}
