package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent/wire"
)

// hostile is a VM whose agent user code has taken over: it answers every
// connection's first request with the text and says no more, or hangs up.
func hostile(t *testing.T, text string, hangUp bool) *Client {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, SecretFile), bytes.Repeat([]byte("s"), 32), 0o600))
	sock, err := net.Listen("unix", filepath.Join(dir, SocketFile))
	require.NoError(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := sock.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				_, _ = conn.Read(make([]byte, 64<<10))
				for rest := text; ; rest = text {
					if _, err := io.WriteString(conn, rest); err != nil || !strings.HasSuffix(text, "…") {
						break
					}
				}
				if hangUp {
					_ = conn.Close()
				}
			}()
		}
	}()
	t.Cleanup(func() {
		_ = sock.Close()
		<-over
	})
	c, err := Dial(dir)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

const ok = "HTTP/1.1 200 OK\r\n"

func length(body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body)
}

func TestHostileAgent(t *testing.T) {
	t.Parallel()
	frame := func(kind wire.Kind, payload string) string {
		b := make([]byte, wire.FrameHead)
		wire.PutFrameHead(b, kind, len(payload))
		return string(b) + payload
	}
	for name, text := range map[string]string{
		"hangs up":           "",
		"no HTTP":            "hello there\r\n\r\n",
		"endless head":       ok + strings.Repeat("A: b\r\n", 1000) + "…",
		"endless body":       ok + "\r\n" + strings.Repeat("x", 1000) + "…",
		"no JSON":            length("hello"),
		"other type":         length(`{"state":5}`),
		"server error":       "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}",
		"its own mistake":    "HTTP/1.1 400 Bad\r\nContent-Length: 19\r\n\r\n{\"code\":\"INTERNAL\"}",
		"redirect":           "HTTP/1.1 302 Found\r\nLocation: http://vm/status\r\nContent-Length: 0\r\n\r\n",
		"endless refusal":    "HTTP/1.1 400 Bad\r\n\r\n" + strings.Repeat("x", 1000) + "…",
		"cut frame":          length(frame(wire.KindStdout, "hello")[:7]),
		"unknown frame":      length(frame(9, "hello")),
		"end without exit":   length(frame(wire.KindStdout, "hello")),
		"exit is no JSON":    length(frame(wire.KindExit, "hello")),
		"fault is no JSON":   length(frame(wire.KindFault, "hello")),
		"fault":              length(frame(wire.KindFault, `{"code":"BADVM","text":"x"}`)),
		"more than it keeps": length(frame(wire.KindStdout, strings.Repeat("x", 101))),
		"flood":              ok + "\r\n" + frame(wire.KindStdout, strings.Repeat("x", 60)) + "…",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostile(t, text, true)
			_, err := c.Status(context.Background())
			assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
			got := 0
			_, err = c.Run(context.Background(), Run{Args: []string{"x"}, Limits: core.Limits{Output: 100}}, func(_ string, b []byte) { got += len(b) })
			assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
			assert.LessOrEqual(t, got, 100)
		})
	}
}

// A host takes no more, and nothing else, than it asked for.
func TestHostileCollection(t *testing.T) {
	t.Parallel()
	frame := func(kind wire.Kind, payload string) string {
		b := make([]byte, wire.FrameHead)
		wire.PutFrameHead(b, kind, len(payload))
		return string(b) + payload
	}
	file := func(head, body string) string { return frame(wire.KindFile, head) + frame(wire.KindData, body) }
	taken := frame(wire.KindTaken, "")
	for name, text := range map[string]string{
		"climbs":              file(`{"path":"out/../../x","size":1}`, "x") + taken,
		"absolute":            file(`{"path":"/etc/passwd","size":1}`, "x") + taken,
		"not asked for":       file(`{"path":"other","size":1}`, "x") + taken,
		"beside what was":     file(`{"path":"outer","size":1}`, "x") + taken,
		"an escape":           file(`{"path":"out/\u001b[2J","size":1}`, "x") + taken,
		"twice":               file(`{"path":"out/a","size":1}`, "x") + file(`{"path":"out/a","size":1}`, "x") + taken,
		"set-user-ID":         file(`{"path":"out/a","mode":2541,"size":1}`, "x") + taken,
		"below none":          file(`{"path":"out/a","size":-1}`, "x") + taken,
		"too large":           file(`{"path":"out/a","size":101}`, strings.Repeat("x", 101)) + taken,
		"too large together":  file(`{"path":"out/a","size":60}`, strings.Repeat("x", 60)) + file(`{"path":"out/b","size":60}`, strings.Repeat("x", 60)) + taken,
		"more than it said":   file(`{"path":"out/a","size":1}`, "xx") + taken,
		"less than it said":   file(`{"path":"out/a","size":2}`, "x") + taken,
		"too many":            frame(wire.KindFile, `{"path":"out/a"}`) + frame(wire.KindFile, `{"path":"out/b"}`) + frame(wire.KindFile, `{"path":"out/c"}`) + frame(wire.KindFile, `{"path":"out/d"}`) + taken,
		"bytes of no file":    frame(wire.KindData, "x") + taken,
		"no end":              file(`{"path":"out/a","size":1}`, "x"),
		"endless skips":       strings.Repeat(frame(wire.KindSkipped, `{"path":"x","why":"y"}`), 1000),
		"no JSON":             frame(wire.KindFile, "x") + taken,
		"output instead":      frame(wire.KindStdout, "x") + taken,
		"a fault":             frame(wire.KindFault, `{"code":"INVALID","text":"x"}`),
		"a file in its midst": frame(wire.KindFile, `{"path":"out/a","size":9}`) + frame(wire.KindFile, `{"path":"out/b","size":1}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hostile(t, length(text), true)
			got := int64(0)
			_, err := c.Collect(context.Background(), wire.Work, Collection{Paths: []string{"out"}, Files: 3, Bytes: 100}, func(_ Taken, r io.Reader) error {
				n, err := io.Copy(io.Discard, r)
				got += n
				return err
			})
			assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
			assert.LessOrEqual(t, got, int64(100))
		})
	}
}

// An agent that says nothing at all is given up, by the caller's time and by our own.
func TestSilentAgent(t *testing.T) {
	t.Parallel()
	c := hostile(t, "", false)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Status(ctx)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	c.silence = 50 * time.Millisecond
	_, err = c.Status(context.Background())
	assert.ErrorIs(t, err, ErrSilent)
	assert.ErrorIs(t, c.Assign(context.Background(), "a"), ErrSilent)
	err = c.Stage(context.Background(), "work", bytes.NewReader(make([]byte, 1024)))
	assert.ErrorIs(t, err, ErrSilent)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
	_, err = c.Run(context.Background(), Run{Args: []string{"x"}}, nil)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
	assert.ErrorIs(t, err, ErrSilent)
}

func TestDial(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(file string) error{
		"no secret": func(string) error { return nil },
		"short":     func(f string) error { return os.WriteFile(f, []byte("short"), 0o600) },
		"long":      func(f string) error { return os.WriteFile(f, bytes.Repeat([]byte("x"), 300), 0o600) },
		"folder":    func(f string) error { return os.Mkdir(f, 0o700) },
		"link": func(f string) error {
			return errors.Join(os.WriteFile(f+"2", bytes.Repeat([]byte("x"), 32), 0o600), os.Symlink(f+"2", f))
		},
	} {
		dir := t.TempDir()
		require.NoError(t, prepare(filepath.Join(dir, SecretFile)), name)
		_, err := Dial(dir)
		assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%s: %v", name, err)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, SecretFile), bytes.Repeat([]byte("x"), 32), 0o600))
	c, err := Dial(dir)
	require.NoError(t, err)
	_, err = c.Status(context.Background())
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "a VM without an agent: %v", err)
}

// Whatever bytes come as a tar: the agent gets well-formed entries, and in the
// end either all or the word that nothing shall stay.
func FuzzEntries(f *testing.F) {
	f.Add([]byte("noise"))
	for _, kind := range []byte{'0', '5', '2', 'x'} {
		block := make([]byte, 2048)
		copy(block, "name")
		copy(block[100:], "0000644\x00")
		copy(block[124:], "00000000005\x00")
		block[156] = kind
		copy(block[257:], "ustar\x0000")
		copy(block[148:], "        ")
		sum := 0
		for _, b := range block[:512] {
			sum += int(b)
		}
		copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
		f.Add(block)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		e := tarEntries(bytes.NewReader(stream))
		for {
			entry, err := wire.ReadEntry(e)
			if err != nil {
				t.Fatalf("the agent would get %v", err)
			}
			switch entry.Kind {
			case wire.EntryEnd, wire.EntryVoid:
				if (entry.Kind == wire.EntryVoid) != (e.err != nil) {
					t.Fatalf("it ends with %c and %v", entry.Kind, e.err)
				}
				if n, err := e.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
					t.Fatalf("there is more behind the end")
				}
				return
			case wire.EntryFile:
				if entry.Size > 1<<20 {
					return // the agent hangs up on it
				}
				if _, err := io.CopyN(io.Discard, e, entry.Size); err != nil {
					t.Fatalf("the bytes of %q are owed: %v", entry.Name, err)
				}
			case wire.EntryDir:
			}
		}
	})
}

// never is a standard input that nothing ever comes from.
type never struct{ until chan struct{} }

func (n never) Read([]byte) (int, error) {
	<-n.until
	return 0, io.EOF
}

// A VM may die while its command's input is still waited for: Run returns then,
// not when there is input.
func TestRunDoesNotWaitForInput(t *testing.T) {
	t.Parallel()
	in := never{make(chan struct{})}
	t.Cleanup(func() { close(in.until) })
	run := Run{Args: []string{"true"}, Stdin: in}

	dead := hostile(t, "", true)
	dead.silence = time.Hour // nobody else gives it up
	_, err := dead.Run(context.Background(), run, nil)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "it hung up: %v", err)

	silent := hostile(t, "", false)
	silent.silence, silent.stall = time.Millisecond, 0
	_, err = silent.Run(context.Background(), run, nil)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "it fell silent: %v", err)

	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = silent.Run(over, run, nil)
	require.Error(t, err, "its caller gave up")
}

// Wherever entries break off, the agent is told that nothing of them shall be there.
func TestEntriesThatBreakOff(t *testing.T) {
	t.Parallel()
	whole := wire.AppendEntry(nil, wire.Entry{Kind: wire.EntryDir, Mode: 0o755, Name: "d"})
	whole = append(wire.AppendEntry(whole, wire.Entry{Kind: wire.EntryFile, Mode: 0o644, Size: 3, Name: "d/f"}), "abc"...)
	whole = wire.AppendEntry(whole, wire.Entry{Kind: wire.EntryEnd})
	got, err := io.ReadAll(sameEntries(bytes.NewReader(whole)))
	require.NoError(t, err)
	require.Equal(t, whole, got)
	void := wire.AppendEntry(nil, wire.Entry{Kind: wire.EntryVoid})
	for n := range whole {
		e := sameEntries(bytes.NewReader(whole[:n]))
		got, err := io.ReadAll(e)
		require.NoError(t, err)
		require.True(t, bytes.HasSuffix(got, void), "after %d bytes", n)
		require.Equal(t, core.CodeInvalid, core.CodeOf(e.err), "after %d bytes", n)
	}
}
