package classes_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated part of docs/courses.md")

const coursesDoc = "../../docs/courses.md"

// rightsTable is the table of rights in docs/courses.md.
func rightsTable() string {
	roles := []core.UserRole{core.RoleAdmin, core.RoleOperator, core.RoleObserver, core.RoleRunner, core.RoleTeacher, core.RoleAssistant, core.RoleStudent}
	var b strings.Builder
	b.WriteString("| action | admin | operator | observer | runner | teacher | teaching assistant | student | own |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range core.Rights() {
		fmt.Fprintf(&b, "| `%s` |", r.Action)
		for _, role := range roles {
			b.WriteString(mark(slices.Contains(r.Roles, role)))
		}
		b.WriteString(mark(r.Owner) + "\n")
	}
	return b.String()
}

func mark(is bool) string {
	if is {
		return " yes |"
	}
	return " |"
}

func TestCoursesDocIsCurrent(t *testing.T) {
	t.Parallel()
	had, err := os.ReadFile(coursesDoc)
	require.NoError(t, err)
	part := regexp.MustCompile(`(?s)(<!-- rights: [^\n]*-->\n).*?(<!-- end -->)`)
	require.True(t, part.Match(had), "docs/courses.md has no place for the rights")
	text := part.ReplaceAllString(string(had), "${1}"+strings.ReplaceAll(rightsTable(), "$", "$$")+"${2}")
	if *update {
		require.NoError(t, os.WriteFile(coursesDoc, []byte(text), 0o644))
		return
	}
	require.Equal(t, text, string(had), "docs/courses.md is stale: run go generate ./core/classes")
}
