package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

func TestKindsOfTaskHaveTheirCommands(t *testing.T) {
	t.Parallel()
	for _, k := range school.Requestable() {
		all := commands()
		for word := range strings.FieldsSeq(k.Command) {
			var found bool
			for _, c := range all {
				if c.Name == word {
					all, found = c.Subcommands, true
					break
				}
			}
			require.True(t, found, "there is no command drover %s: startCommands has those of assignment and grades", k.Command)
		}
	}
}
