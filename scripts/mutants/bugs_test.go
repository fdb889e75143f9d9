package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who changes code in which a bug is seeded changes the bug, too.
func TestBugsAreWhereTheySay(t *testing.T) {
	t.Parallel()
	bugs, err := read(records)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, b := range bugs {
		require.False(t, names[b.name], "two bugs are called %s", b.name)
		names[b.name] = true
		_, err := b.seeded("../..")
		assert.NoError(t, err)
	}
	require.Len(t, names, 100)
}
