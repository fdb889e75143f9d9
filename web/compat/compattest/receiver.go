package compattest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
	"drover/taskrunner"
	"drover/web/compat"
)

// Received is a callback as it came.
type Received struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// Receiver is a server that callbacks are sent to. It answers with the statuses in turn,
// and with the last one for ever.
func Receiver(t testing.TB, statuses ...int) (url string, calls <-chan Received) {
	t.Helper()
	all := make(chan Received, 100)
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("a callback breaks off: %v", err)
		}
		all <- Received{r.Method, r.URL.Path, r.Header, body}
		w.WriteHeader(statuses[min(int(n.Add(1)), len(statuses))-1])
	}))
	t.Cleanup(s.Close)
	return s.URL, all
}

// Here are the addresses of this machine.
func Here(t testing.TB) webhook.Addresses {
	t.Helper()
	here, err := webhook.ParseAddresses([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	return here
}

// Taskrunner tells receivers on this machine of ends, until it is stopped or the test ends.
func (w *Fixture) Taskrunner(callbacks map[string]core.Callback) (stop func()) {
	w.T.Helper()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 1)
	run, err := taskrunner.New(taskrunner.Config{
		Registration: core.Registration{Owner: owner, Host: "h1", Machine: "m-h1", Version: "1", Beat: time.Second}, Slots: 2,
		Poll: 20 * time.Millisecond, Webhooks: Here(w.T),
	}, taskrunner.Deps{
		Owners: w.Cluster.Store, Tasks: w.Cluster.Store, Store: w.Store, Blobs: w.Blobs, Work: w.Intake, Intake: w.Intake, Log: w.Deps.Log, Callbacks: callbacks,
	})
	require.NoError(w.T, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.T.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	stop = func() {
		cancel()
		if err, ok := <-ended; ok {
			close(ended)
			require.NoError(w.T, err)
		}
	}
	w.T.Cleanup(stop)
	return stop
}

// RequireSigned requires that a callback is signed by the key that asked for it.
func RequireSigned(t testing.TB, key string, got Received) {
	t.Helper()
	verifier, err := standard.NewWebhook(compat.CallbackSecret(key))
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(got.Body, got.Header))
}
