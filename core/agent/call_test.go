package agent_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
)

func TestOneAssignmentInAVMsLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v := start(t, plain, nil)
	s, err := v.client.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, agent.Status{State: "ready"}, s)

	_, err = v.client.Run(ctx, agent.Run{Args: []string{"true"}}, nil)
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "nobody runs anything before it: %v", err)
	err = v.client.Stage(ctx, "work", archive(t, file("a", "b")))
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "nor stages: %v", err)
	for _, bad := range []string{"", strings.Repeat("x", 129), "a b", "a\nb", "ä"} {
		assert.Equal(t, core.CodeInvalid, core.CodeOf(v.client.Assign(ctx, bad)), "%q", bad)
	}

	require.NoError(t, v.client.Assign(ctx, "r1-1.t1"))
	require.NoError(t, v.client.Assign(ctx, "r1-1.t1"), "the same again is fine")
	s, err = v.client.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, agent.Status{State: "assigned", Assignment: "r1-1.t1"}, s)

	other, err := agent.Dial(v.dir)
	require.NoError(t, err)
	defer other.Close()
	err = other.Assign(ctx, "r1-1.t2")
	assert.Equal(t, core.CodeConflict, core.CodeOf(err))
	assert.ErrorContains(t, err, "r1-1.t1")
	_, err = other.Run(ctx, agent.Run{Args: []string{"true"}}, nil)
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "a refused caller runs nothing: %v", err)

	exit, _ := v.sh(t, "exit 4", nil)
	assert.Equal(t, 4, exit.Code)
}

// Two runners that both believe the VM is theirs: one of them is right.
func TestAssignmentRace(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	var won atomic.Int32
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			c, err := agent.Dial(v.dir)
			if !assert.NoError(t, err) {
				return
			}
			defer c.Close()
			err = c.Assign(context.Background(), fmt.Sprint("t", i))
			if err == nil {
				won.Add(1)
				return
			}
			assert.Equal(t, core.CodeConflict, core.CodeOf(err))
		}()
	}
	for range 8 {
		<-done
	}
	assert.EqualValues(t, 1, won.Load())
}

func TestSecret(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	require.NoError(t, os.WriteFile(filepath.Join(v.dir, agent.SecretFile), []byte(secret+"x"), 0o600))
	wrong, err := agent.Dial(v.dir)
	require.NoError(t, err)
	defer wrong.Close()
	_, err = wrong.Status(context.Background())
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err))
	assert.NotContains(t, err.Error(), secret)

	for _, auth := range []string{"", secret, "Bearer", "Bearer ", "Bearer " + secret[1:], "bearer " + secret, "Basic " + secret} {
		answer := v.raw(t, "GET /status HTTP/1.1\r\nAuthorization: "+auth+"\r\n\r\n")
		assert.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%q", auth)
	}
	assert.Equal(t, http.StatusOK, v.raw(t, "GET /status HTTP/1.1\r\nAuthorization: Bearer "+secret+"\r\n\r\n").StatusCode)
}

// dial opens a connection of its own to the agent.
func (v *vm) dial(t *testing.T) net.Conn {
	t.Helper()
	dir, err := os.Open(v.dir)
	require.NoError(t, err)
	defer dir.Close()
	conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), agent.SocketFile))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// raw sends bytes and reads the answer to them.
func (v *vm) raw(t *testing.T, request string) *http.Response {
	t.Helper()
	conn := v.dial(t)
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}

// What is not a request of ours is refused and does no harm.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	auth := "Authorization: Bearer " + secret + "\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"other words":     {"HELO there\r\n\r\n", 400},
		"other version":   {"GET /status HTTP/1.0\r\n\r\n", 400},
		"no colon":        {"GET /status HTTP/1.1\r\nnonsense\r\n\r\n", 400},
		"long line":       {"GET /" + strings.Repeat("x", 20<<10) + " HTTP/1.1\r\n\r\n", 400},
		"many headers":    {"GET /status HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 5000) + "\r\n", 400},
		"two lengths":     {"PUT /assignment HTTP/1.1\r\n" + auth + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		"length and more": {"PUT /assignment HTTP/1.1\r\n" + auth + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400},
		"minus":           {"PUT /assignment HTTP/1.1\r\n" + auth + "Content-Length: -2\r\n\r\n{}", 400},
		"other coding":    {"PUT /assignment HTTP/1.1\r\n" + auth + "Transfer-Encoding: gzip\r\n\r\n{}", 400},
		"bad chunk":       {"PUT /assignment HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"huge chunk":      {"PUT /assignment HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400},
		"large body":      {"PUT /assignment HTTP/1.1\r\n" + auth + "Content-Length: 5000\r\n\r\n" + strings.Repeat(" ", 5000), 413},
		"not JSON":        {"PUT /assignment HTTP/1.1\r\n" + auth + "Content-Length: 2\r\n\r\n{]", 400},
		"body for status": {"GET /status HTTP/1.1\r\n" + auth + "Content-Length: 2\r\n\r\n{}", 400},
		"no such path":    {"GET /nothing HTTP/1.1\r\n" + auth + "\r\n", 404},
		"other method":    {"POST /status HTTP/1.1\r\n" + auth + "\r\n", 404},
		"no such place":   {"PUT /stage/etc HTTP/1.1\r\n" + auth + "\r\n", 400},
		"empty run":       {"POST /run HTTP/1.1\r\n" + auth + "\r\n", 409},
	} {
		assert.Equal(t, c.status, v.raw(t, c.request).StatusCode, name)
	}
	require.NoError(t, v.client.Assign(context.Background(), "a"))
	auth += "Drover-Assignment: a\r\n"
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"no head":      {"", 400},
		"huge head":    {"\xff\xff\xff\xff{}", 413},
		"short head":   {"\x00\x00\x00\x05{}", 400},
		"not a run":    {"\x00\x00\x00\x02[]", 400},
		"empty object": {"\x00\x00\x00\x02{}", 400},
	} {
		request := fmt.Sprintf("POST /run HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", auth, len(c.body), c.body)
		assert.Equal(t, c.status, v.raw(t, request).StatusCode, name)
	}
	exit, _ := v.sh(t, "exit 4", nil)
	assert.Equal(t, 4, exit.Code)
}

// The agent takes no more connections than it can bear, and none is needed for long.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	var idle []net.Conn
	for range 40 {
		idle = append(idle, v.dial(t))
	}
	refused := 0
	for _, c := range idle[16:] {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			refused++
		}
	}
	assert.Equal(t, 24, refused)
	for _, c := range idle {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool {
		_, err := v.client.Status(context.Background())
		return err == nil
	}, eventually, time.Millisecond)
}

// Want of descriptors passes; the agent waits for that.
func TestAgentOutlivesWantOfDescriptors(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	_, err := v.client.Status(context.Background())
	require.NoError(t, err)
	v.client.Close() // the next call needs a new connection
	var own unix.Rlimit
	require.NoError(t, unix.Prlimit(v.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &own))
	require.NoError(t, unix.Prlimit(v.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: own.Max}, nil))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err = v.client.Status(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, unix.Prlimit(v.cmd.Process.Pid, unix.RLIMIT_NOFILE, &own, nil))
	_, err = v.client.Status(context.Background())
	require.NoError(t, err)
}

// running starts a run and waits until it has said something.
func (v *vm) running(t *testing.T, ctx context.Context, run agent.Run) <-chan ended {
	t.Helper()
	up, over := make(chan struct{}, 100), make(chan ended, 1)
	go func() {
		exit, err := v.client.Run(ctx, run, func(string, []byte) { up <- struct{}{} })
		over <- ended{exit, err}
	}()
	<-up
	return over
}

type ended struct {
	exit agent.Exit
	err  error
}

func TestOneThingAtATime(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	over := v.running(t, context.Background(), agent.Run{Args: []string{"sh", "-c", "sleep 3600 & echo up; wait"}})
	_, err := v.client.Run(context.Background(), agent.Run{Args: []string{"true"}}, nil)
	assert.Equal(t, core.CodeConflict, core.CodeOf(err))
	err = v.client.Stage(context.Background(), "work", archive(t, file("a", "b")))
	assert.Equal(t, core.CodeConflict, core.CodeOf(err))
	s, err := v.client.Status(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 2, s.Processes)
	require.NoError(t, v.client.Kill(context.Background()))
	<-over
}

func TestKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		require.NoError(t, v.client.Kill(context.Background()), "nothing to kill is fine")
		word := unique()
		over := v.running(t, context.Background(), agent.Run{Args: []string{"sh", "-c", "trap '' TERM; setsid sleep " + word + " & echo up; wait"}})
		require.NoError(t, v.client.Kill(context.Background()))
		assert.Zero(t, living(t, word))
		v.requireEmpty(t)
		end := <-over
		require.NoError(t, end.err)
		assert.Equal(t, "SIGKILL", end.exit.Signal)
		assert.Empty(t, end.exit.Limit(), "no limit was to blame")
		exit, _ := v.sh(t, "exit 4", nil)
		assert.Equal(t, 4, exit.Code)
	})
}

// deadline is a context whose time is up when the test says so.
type deadline struct {
	context.Context
	passed chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.passed }

func (d deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestCancelKills(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for name, end := range map[string]struct {
			code core.Code
			err  error
			ctx  func() (context.Context, context.CancelFunc)
		}{
			"cancelled": {core.CodeUnavailable, context.Canceled, func() (context.Context, context.CancelFunc) {
				return context.WithCancel(context.Background())
			}},
			"late": {core.CodeBadVM, context.DeadlineExceeded, func() (context.Context, context.CancelFunc) {
				d := deadline{context.Background(), make(chan struct{})}
				return d, sync.OnceFunc(func() { close(d.passed) })
			}},
		} {
			word := unique()
			ctx, cancel := end.ctx()
			over := v.running(t, ctx, agent.Run{Args: []string{"sh", "-c", "setsid sleep " + word + " & echo up; wait"}, Stdin: &endless{}})
			cancel()
			got := <-over
			require.ErrorIs(t, got.err, end.err, name)
			assert.Equal(t, end.code, core.CodeOf(got.err), name)
			assert.Zero(t, living(t, word), "all is dead before Run returns")
			v.requireEmpty(t)
		}
	})
}

// The host dies: its connection ends without a word, whatever the command does.
func TestDisconnectKills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, body string
		half         bool // the host still listens, but will say no more
	}{
		"quiet, all input sent":      {script: "sleep $0"},
		"half closed":                {script: "sleep $0", half: true},
		"quiet, input pending":       {script: "sleep $0", body: strings.Repeat("x", 1<<20)},
		"reads input":                {script: "cat >/dev/null; sleep $0", body: strings.Repeat("x", 100<<10)},
		"writes":                     {script: "yes $0 | head -c 3000000; sleep $0"},
		"closed its input":           {script: "exec <&-; sleep $0", body: strings.Repeat("x", 1<<20)},
		"in the background, ignores": {script: "trap '' HUP TERM PIPE; setsid sleep $0 & wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := assigned(t, single, nil)
			word := unique()
			conn := v.dial(t)
			spec := fmt.Sprintf(`{"args":["/bin/sh","-c",%q,%q]}`, c.script, word)
			head := string(binary.BigEndian.AppendUint32(nil, uint32(len(spec)))) + spec
			_, err := fmt.Fprintf(conn, "POST /run HTTP/1.1\r\nAuthorization: Bearer %s\r\nDrover-Assignment: r1-1.t1\r\nContent-Length: %d\r\n\r\n%s",
				secret, len(head)+len(c.body)*2, head)
			require.NoError(t, err)
			go func() { _, _ = io.WriteString(conn, c.body) }() // it may never be taken
			require.Eventually(t, func() bool { return living(t, word) > 0 }, eventually, time.Millisecond)
			if c.half {
				require.NoError(t, conn.(*net.UnixConn).CloseWrite())
			} else {
				require.NoError(t, conn.Close())
			}
			require.Eventually(t, func() bool {
				s, err := v.client.Status(context.Background())
				return err == nil && s.Processes == 0
			}, eventually, time.Millisecond)
			assert.Zero(t, living(t, word))
		})
	}
}

// Nobody comes for a VM whose folder was removed, so it ends, and what it runs.
func TestAgentEndsWithItsFolder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, func(c *agent.Config) { c.Anchor = time.Millisecond })
		word := unique()
		over := v.running(t, context.Background(), agent.Run{Args: []string{"sh", "-c", "setsid sleep " + word + " & echo up; wait"}})
		moved := v.dir + "-moved"
		require.NoError(t, os.Rename(v.dir, moved), "a folder that is moved is there")
		there, err := agent.Dial(moved)
		require.NoError(t, err)
		defer there.Close()
		for range 5 {
			_, err = there.Status(context.Background())
			require.NoError(t, err)
		}
		require.NoError(t, os.Remove(filepath.Join(moved, agent.SocketFile)))
		end := <-over
		require.Error(t, end.err)
		v.stopped = true
		require.NoError(t, v.cmd.Wait())
		assert.Zero(t, living(t, word))
		require.NoError(t, v.lifeline.Close())
	})
}
