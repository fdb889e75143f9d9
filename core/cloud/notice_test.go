package cloud_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
	"drover/core/coretest/tier"
	"drover/core/service/clock"
)

// service answers as a machine's metadata service (version 2) does, after one error. It has a notice unless answer
// returns "" when it is asked for the nth time.
func service(t *testing.T, answer func(n int64) string) (base string) {
	t.Helper()
	var tokens, times atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
			if tokens.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte("secret"))
		case r.Header.Get("X-aws-ec2-metadata-token") != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/latest/meta-data/spot/instance-action":
			w.WriteHeader(http.StatusBadRequest)
		default:
			text := answer(times.Add(1))
			if text == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// hurried is a clock by which nobody waits.
type hurried struct{ clock.Real }

func (hurried) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

func TestANoticeOfASpotMachine(t *testing.T) {
	t.Parallel()
	base := service(t, func(n int64) string {
		if n < 3 {
			return ""
		}
		return `{"action":"terminate","time":"2030-01-02T03:04:05Z"}`
	})
	n, err := cloud.WaitNotice(t.Context(), base+"/", hurried{})
	require.NoError(t, err)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Equal(t, cloud.Notice{Action: "terminate", Time: at}, n)
	for left, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, time.Hour: 2 * time.Minute, -time.Minute: 0} {
		require.Equal(t, want, n.Left(at.Add(-left)))
	}
}

func TestNoNoticeOfASpotMachine(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	base := service(t, func(n int64) string {
		if n == 100 { // a service that has answered is not given up
			stop()
		}
		return ""
	})
	_, err := cloud.WaitNotice(ctx, base, hurried{})
	require.ErrorIs(t, err, context.Canceled)
}

// A machine that has no such service asks for five minutes.
func TestNoMetadata(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	_, err := cloud.WaitNotice(t.Context(), server.URL, hurried{})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.EqualValues(t, 5*time.Minute/cloud.NoticeEvery, asked.Load())
}

// The service that the makers of EC2 give for tests says the same.
func TestTheMetadataServiceOfOthers(t *testing.T) {
	tier.OnlyInAll(t, tier.EC2)
	t.Parallel()
	at := time.Now().Add(2 * time.Minute).UTC().Truncate(time.Second)
	n, is, err := cloud.ReadNotice(t.Context(), mock(t, "spot", "--action", "terminate", "--time", at.Format(time.RFC3339)))
	require.NoError(t, err)
	require.True(t, is)
	require.Equal(t, cloud.Notice{Action: "terminate", Time: at}, n)
	_, is, err = cloud.ReadNotice(t.Context(), mock(t, "spot", "--mock-delay-sec", "3600"))
	require.NoError(t, err)
	require.False(t, is)
}

// mock starts ec2-metadata-mock, and returns its address once it answers.
func mock(t *testing.T, args ...string) string {
	t.Helper()
	tier.Need(t, tier.EC2)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile=scripts/servers.mod", "ec2-metadata-mock")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	program, err := build.Output()
	require.NoError(t, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, strings.TrimSpace(string(program)), append(args, "--imdsv2", "--hostname", host, "--port", port)...)
	server.Env = []string{"HOME=" + t.TempDir()}
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	base := "http://" + net.JoinHostPort(host, port)
	require.Eventually(t, func() bool {
		_, _, err := cloud.ReadNotice(t.Context(), base)
		return err == nil
	}, 5*time.Minute, 20*time.Millisecond)
	return base
}

func TestMetadataThatIsNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"no JSON": "soon", "no time": `{"action":"stop"}`, "too long": `{"action":"` + strings.Repeat("x", 9000) + `"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		_, is, err := cloud.ReadNotice(t.Context(), server.URL)
		server.Close()
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), name)
		require.False(t, is, name)
	}
	_, _, err := cloud.ReadNotice(t.Context(), "http://127.0.0.1:1")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}
