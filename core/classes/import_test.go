package classes_test

import (
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const roster = "\ufeffHandle, name,EMAIL,role\n" +
	"ann,,,\n" + // is there
	"cleo,,,teaching_assistant\n" + // changes
	"nick,,,student\n" + // is a user
	"new-1,\"New, One\",New1@Example.org,\n" +
	"\n" +
	"new-2,New Two,not an address,\n" + // line 7
	"nick,,,\n" + // twice
	"zed,,,emperor\n" +
	",,theo@example.org,teacher\n" +
	",,,\n" +
	"local-root,,,\n" +
	"eve,,,student,,more\n" +
	"new-3,,ann@example.org,\n" + // another's address
	"new-4,,new1@example.org,\n" // line 5's

func TestImportRoster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	root := w.as("root")
	want := classes.Imported{Rows: 13, Header: []string{"Handle", "name", "EMAIL", "role"}, Columns: []string{"handle", "name", "email", "role"}, Created: 1, Enrolled: 3, Changed: 1, Same: 1, Skipped: 1, Failed: 7}

	plan, err := w.reg.ImportRoster(ctx, root, "cs101", strings.NewReader(roster), classes.ImportOptions{DryRun: true})
	require.NoError(t, err)
	assert.Empty(t, w.log.names, "a dry run changes nothing")
	troubles := plan.Troubles
	plan.Troubles, plan.DryRun, plan.Lines = nil, false, nil
	assert.Equal(t, want, plan)

	got, err := w.reg.ImportRoster(ctx, root, "cs101", strings.NewReader(roster), classes.ImportOptions{DryRun: false})
	require.NoError(t, err)
	assert.Equal(t, troubles, got.Troubles)
	var lines []string
	for _, trouble := range got.Troubles {
		lines = append(lines, fmt.Sprint(trouble.Line))
	}
	assert.Equal(t, []string{"7", "8", "9", "12", "13", "14", "15"}, lines)
	assert.Contains(t, got.Troubles[1].Text, "line 4")
	assert.NotEmpty(t, got.ID)
	got.Troubles, got.Lines, got.ID = nil, nil, ""
	assert.Equal(t, want, got)
	assert.Equal(t, "entry", w.log.names[0], "the import as a whole, before its parts")
	assert.ElementsMatch(t, []string{"entry", "entry", "enrol", "entry", "enrol", "entry", "put user", "entry", "enrol", "entry", "enrol"}, w.log.names)

	members, err := w.reg.Roster(ctx, root, "cs101", "", 100)
	require.NoError(t, err)
	roles := map[string]core.UserRole{}
	for _, m := range members {
		roles[m.User] = m.Role
	}
	assert.Equal(t, map[string]core.UserRole{
		"ann": core.RoleStudent, "cleo": core.RoleAssistant, "nick": core.RoleStudent, "new-1": core.RoleStudent,
		"tess": core.RoleTeacher, "theo": core.RoleTeacher, "tina": core.RoleAssistant,
	}, roles)
	u, err := w.reg.ViewUser(ctx, root, "new1@example.org")
	require.NoError(t, err)
	assert.Equal(t, "New, One", u.Name)

	w.log.clear()
	again, err := w.reg.ImportRoster(ctx, root, "cs101", strings.NewReader(roster), classes.ImportOptions{DryRun: false})
	require.NoError(t, err)
	assert.Empty(t, w.log.names, "the same file again changes nothing")
	assert.Equal(t, []int{0, 0, 0, 5, 7}, []int{again.Created, again.Enrolled, again.Changed, again.Same, again.Failed})
}

// Staff import as they may enrol.
func TestImportByStaff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	got, err := w.reg.ImportRoster(t.Context(), w.as("tina"), "cs101", strings.NewReader("handle,role\nnick,student\nnew,student\ntess,student\neve,teacher\n"), classes.ImportOptions{DryRun: false})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 3}, []int{got.Enrolled, got.Failed})
	assert.Contains(t, got.Troubles[0].Text, "ask an admin")
	assert.Contains(t, got.Troubles[1].Text, "enrol.teacher")
	assert.Contains(t, got.Troubles[2].Text, "enrol.teacher")
}

// counting counts what is read of it.
type counting struct {
	n    int
	line string
}

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = c.line[(c.n+i)%len(c.line)]
	}
	c.n += len(p)
	return len(p), nil
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, c := range map[string]struct {
		file string
		code core.Code
		says string
	}{
		"nothing":              {"", core.CodeInvalid, "empty"},
		"no names":             {"ann,Ann\n", core.CodeInvalid, "name the columns"},
		"nobody meant":         {"points,role\n", core.CodeInvalid, "who is meant"},
		"a quote that is open": {"handle\nann\n\"cleo\n", core.CodeInvalid, "line"},
		"a quote in the midst": {"handle\nnick\na\"b\n", core.CodeInvalid, "line 3"},
		"too many lines":       {"handle\n" + strings.Repeat("ghost\n", classes.MaxImportRows+1), core.CodeLimit, "lines"},
	} {
		_, err := w.reg.ImportRoster(t.Context(), w.as("tess"), "cs101", strings.NewReader(c.file), classes.ImportOptions{DryRun: true})
		require.Error(t, err, name)
		assert.Equal(t, c.code, core.CodeOf(err), name)
		assert.Contains(t, err.Error(), c.says, name)
	}
	endless := &counting{line: "\""}
	_, err := w.reg.ImportRoster(t.Context(), w.as("tess"), "cs101", endless, classes.ImportOptions{DryRun: true})
	requireCode(t, core.CodeLimit, err)
	endless = &counting{line: "handle\n\""}
	_, err = w.reg.ImportRoster(t.Context(), w.as("tess"), "cs101", endless, classes.ImportOptions{DryRun: true})
	require.Error(t, err)
	assert.LessOrEqual(t, endless.n, classes.MaxImportBytes+8192)
}
