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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
	"drover/core/service/clock"
)

// metadata starts the metadata service that the makers of EC2 give for tests, and returns its address once it answers.
func metadata(t *testing.T, args ...string) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile=scripts/servers.mod", "ec2-metadata-mock")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	program, err := build.Output()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("ec2-metadata-mock cannot be built: %v", err)
	}
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
	}, 30*time.Second, 20*time.Millisecond)
	return base
}

func TestANoticeOfASpotMachine(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(2 * time.Minute).UTC().Truncate(time.Second)
	base := metadata(t, "spot", "--action", "terminate", "--time", at.Format(time.RFC3339))
	n, err := cloud.WaitNotice(t.Context(), base+"/", clock.Real{})
	require.NoError(t, err)
	require.Equal(t, cloud.Notice{Action: "terminate", Time: at}, n)
}

func TestNoNoticeOfASpotMachine(t *testing.T) {
	t.Parallel()
	base := metadata(t, "spot", "--mock-delay-sec", "3600")
	_, is, err := cloud.ReadNotice(t.Context(), base)
	require.NoError(t, err)
	require.False(t, is)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = cloud.WaitNotice(ctx, base, clock.Real{})
	require.ErrorIs(t, err, context.Canceled)
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
