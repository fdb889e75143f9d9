package mongo_test

import (
	"context"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/store/mongo"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// impatient are for a server that goes: what looks for it gives up soon.
var impatient = mongo.Options{Timeout: 2 * time.Minute}

func TestKilled(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	server := mongotest.Alone(t)
	s := open(t, server.URL("d"), impatient)
	storetest.Killed(t, func() school.ResultStore { return s },
		func() { require.NoError(t, server.Kill()) },
		func() { require.NoError(t, server.Restart(t.Context())) })
}

func TestSilent(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	server := mongotest.Alone(t)
	s := open(t, server.URL("d"), impatient)
	storetest.Silent(t, s,
		func() { require.NoError(t, server.Pause()) },
		func() { require.NoError(t, server.Resume()) })
}

// A call that nobody bounds ends by itself.
func TestSilentForACallerThatWaits(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	server := mongotest.Alone(t)
	s, err := mongo.Open(t.Context(), server.URL("d"), mongo.Options{Timeout: 5 * time.Second})
	require.NoError(t, err)
	require.NoError(t, server.Pause())
	_, err = s.ID(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	require.NoError(t, server.Resume())
	require.NoError(t, s.Close())
}

func TestCut(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	line := coretest.NewLine(t, mongotest.Alone(t).Socket)
	s := open(t, mongotest.URL(line.Socket, "d"), impatient)
	storetest.Cut(t, s, func() { line.Loses(9) }, line.Release)
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]core.Code{
		"mongodb://%2Fnowhere%2Fm.sock/d":          core.CodeUnavailable,
		"mongodb://u:s3cret@%2Fnowhere%2Fm.sock/d": core.CodeUnavailable,
		"mongodb://u:s3c@ret@h/d":                  core.CodeInvalid,
		"mongodb://u:s3cret@h1:x/d":                core.CodeInvalid,
	} {
		_, err := mongo.Open(context.Background(), url, mongo.Options{Select: 50 * time.Millisecond})
		require.Equal(t, want, core.CodeOf(err), "%s: %v", url, err)
		require.NotContains(t, err.Error(), "s3c")
	}
}
