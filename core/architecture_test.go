package core_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the pictures of the states into docs/architecture.md")

// The pictures in docs/architecture.md are those of the table.
func TestArchitectureShowsTheTransitions(t *testing.T) {
	t.Parallel()
	const file, from, to = "../docs/architecture.md", "<!-- states -->\n", "<!-- /states -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), from)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, to)
	require.True(t, ok)
	want := before + from + statePictures() + to + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./core -run Architecture -update")
}

func statePictures() string {
	var b strings.Builder
	for _, entity := range []core.Entity{core.EntityRequest, core.EntityVM, core.EntityHost} {
		fmt.Fprintf(&b, "\n### %s\n\n```mermaid\nstateDiagram-v2\n", entity)
		for _, tr := range core.Transitions() {
			if tr.Entity == entity {
				source := tr.From
				if source == "" {
					source = "[*]"
				}
				fmt.Fprintf(&b, "  %s --> %s: %s\n", source, tr.To, strings.Join(tr.By, ", "))
			}
		}
		b.WriteString("```\n")
	}
	b.WriteString("\n")
	return b.String()
}

func TestTransitionsLeaveNoTerminalState(t *testing.T) {
	t.Parallel()
	for _, tr := range core.Transitions() {
		if tr.Entity == core.EntityRequest {
			require.False(t, core.RequestState(tr.From).Terminal(), "%s → %s leaves a terminal state", tr.From, tr.To)
		}
		require.NotEmpty(t, tr.By, "%s %s → %s is made by nobody", tr.Entity, tr.From, tr.To)
		require.NotEmpty(t, tr.Why)
	}
}
