package core_test

import (
	"strings"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// What is no name may have any length; what is said of it has not.
func TestWrongNamesAreNotRepeatedWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x1b", 1<<20)
	_, _, err := core.ParseKey(long)
	for _, err := range []error{core.CheckName("user", long), err} {
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		require.Less(t, len(err.Error()), 500)
	}
}
