package languages_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"drover/core/coretest"
	"drover/core/harness/languages"
)

var update = flag.Bool("update", false, "write the table into docs/languages.md")

// The table of docs/languages.md is this package's.
func TestDocsShowTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("\n| code | language | suffixes | packages | time | memory | Judge0 |\n|---|---|---|---|---|---|---|\n")
	for _, l := range languages.All() {
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Judge0), " ", ", "), "[]")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %g | %g | %s |\n", l.Code, l.Name, strings.Join(l.Suffixes, " "), strings.Join(l.Packages, " "), l.Time, l.Memory, ids)
	}
	b.WriteString("\n")
	coretest.RequireDocument(t, "../../../docs/languages.md", map[string]string{"languages": b.String()}, *update, "make docs")
}
