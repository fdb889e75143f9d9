package sqlite_test

import (
	"testing"

	"drover/core"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

func TestLeasesLimit(t *testing.T) {
	t.Parallel()
	s := sqlitetest.Open(t)
	storetest.LeasesLimit(t, s, func(all []core.Lease) {
		c, err := s.Calendar(t.Context(), 0)
		require.NoError(t, err)
		for i := range all {
			c.Revision, err = s.PutLease(t.Context(), c.Revision, all[i])
			require.NoError(t, err)
		}
	})
}
