package mongo_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/store/mongo"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("MONGO_URL") == "" {
		// FerretDB reads whole collections where MongoDB has an index: the model's random requests
		// fill them. The command line still has the last word.
		if err := flag.Set("rapid.checks", "8"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// patient are for a server that is there, but busy with other tests.
var patient = mongo.Options{Timeout: 5 * time.Minute, Select: 5 * time.Minute}

// open opens a store; the test closes it.
func open(t *testing.T, url string, opts mongo.Options) *mongo.Store {
	t.Helper()
	s, err := mongo.Open(t.Context(), url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	storetest.Run(t, func(t *testing.T) school.ResultStore { return open(t, mongotest.Database(t), patient) })
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	urls := []string{mongotest.Database(t), mongotest.Database(t)}
	storetest.Identity(t, func(n int) (school.ResultStore, error) {
		return mongo.Open(context.Background(), urls[n], patient)
	})
}
