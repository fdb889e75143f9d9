package mongo_test

import (
	"testing"

	"drover/core"
	"drover/core/store/mongo"

	"github.com/stretchr/testify/require"
)

// A password that is not written as it must be is not taken for a host and told.
func TestUnreadableURLsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"mongodb://zoe:17?secret@127.0.0.1/db", "mongodb+srv://zoe:secret?x.y@h.example.invalid/db",
		"mongodb://zoe:se/cret@127.0.0.1/db", "mongodb://zoe:se@cret@127.0.0.1/db", "mongodb://zoe:se%cret@127.0.0.1/db",
	} {
		_, err := mongo.Open(t.Context(), url, mongo.Options{Timeout: 1, Select: 1})
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
		for _, part := range []string{"zoe", "17", "secret", "cret@"} {
			require.NotContains(t, err.Error(), part)
		}
	}
}
