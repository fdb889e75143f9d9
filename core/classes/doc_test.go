package classes_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"
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
	coretest.RequireDocument(t, coursesDoc, map[string]string{"rights": rightsTable()}, *update, "go generate ./core/classes")
}
