package enter

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// enterWith has a process of ours carry out what it gets, and returns what it said.
func enterWith(t *testing.T, input []byte) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args = []string{EnterName}
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestCarryOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out, err := enterWith(t, Plan{Steps: []Step{
		{Do: Mkdir, Path: at("a"), Bits: 0o750},
		{Do: Write, Path: at("a/file"), Text: "text", Bits: 0o640},
		{Do: Symlink, Path: at("link"), Text: "a/file"},
		{Do: Mkdir, Path: at("not/there"), Maybe: true},
		{Do: Rlimit, Num: []uint64{syscall.RLIMIT_NOFILE, 32}},
		{Do: Say, Text: "done"},
	}}.Encode())
	require.NoError(t, err, out)
	assert.Equal(t, "done", out)
	text, err := os.ReadFile(at("link"))
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	info, err := os.Stat(at("a"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o750), info.Mode().Perm(), "whatever the umask")
}

// TestCarryOutStops shows that the first step that fails is the last, and named.
func TestCarryOutStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step Step
		says string
	}{
		"a folder":     {Step{Do: Mkdir, Path: "/not/there"}, "mkdir /not/there: no such file or directory"},
		"no such verb": {Step{Do: "dance", Text: "now"}, "dance now: function not implemented"},
		"a mount":      {Step{Do: Mount, From: "x", Path: "/not/there", Type: "tmpfs"}, "mount /not/there: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := enterWith(t, Plan{Steps: []Step{c.step, {Do: Say, Text: "went on"}}}.Encode())
			require.Error(t, err)
			assert.Contains(t, out, c.says)
			assert.NotContains(t, out, "went on")
		})
	}
}

// TestPlanIsWholeOrNothing cuts a plan anywhere: its writer died.
func TestPlanIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	whole := Plan{Steps: []Step{{Do: Say, Text: "said", Num: []uint64{300}, Args: []string{"a"}}, {Do: Fds, Num: []uint64{6}}}}.Encode()
	for n := range whole {
		_, err := decodePlan(whole[:n])
		require.Error(t, err, "the first %d bytes", n)
	}
	out, err := enterWith(t, whole[:len(whole)-1])
	require.Error(t, err)
	assert.NotContains(t, out, "said")
	out, err = enterWith(t, nil)
	require.Error(t, err)
	assert.Contains(t, out, "cut short")
}

func TestCodec(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, number := rapid.String(), rapid.Uint64()
		step := rapid.Custom(func(t *rapid.T) Step {
			return Step{
				Do: Verb(text.Draw(t, "do")), Path: text.Draw(t, "path"), From: text.Draw(t, "from"), Type: text.Draw(t, "type"),
				Text: text.Draw(t, "text"), Bits: number.Draw(t, "bits"), Num: rapid.SliceOf(number).Draw(t, "num"),
				Raw: rapid.SliceOf(rapid.Byte()).Draw(t, "raw"), Args: rapid.SliceOf(text).Draw(t, "args"),
				Env: rapid.SliceOf(text).Draw(t, "env"), Deep: rapid.Bool().Draw(t, "deep"), Maybe: rapid.Bool().Draw(t, "maybe"),
			}
		})
		p := Plan{Steps: rapid.SliceOf(step).Draw(t, "steps")}
		got, err := decodePlan(p.Encode())
		if err != nil || !cmp.Equal(p, got, cmpopts.EquateEmpty()) {
			t.Fatalf("%v %v", err, cmp.Diff(p, got))
		}
		q := Request{Flags: uintptr(number.Draw(t, "flags")), Cgroup: rapid.Bool().Draw(t, "cgroup"), Plan: p}
		gotq, err := decodeRequest(q.Encode())
		if err != nil || !cmp.Equal(q, gotq, cmpopts.EquateEmpty()) {
			t.Fatalf("%v %v", err, gotq)
		}
		a := Answer{PID: rapid.IntRange(0, 1<<22).Draw(t, "pid"), Errno: syscall.EPERM, Text: text.Draw(t, "text")}
		gota, err := DecodeAnswer(a.encode())
		if err != nil || !cmp.Equal(a, gota) {
			t.Fatalf("%v %v", err, gota)
		}
	})
}

// An answer says what went wrong in a line, whatever the error is like.
func TestAnswerIsShort(t *testing.T) {
	t.Parallel()
	a := failed(fmt.Errorf("no such thing\nand more: %w", syscall.ENOENT))
	assert.Equal(t, Answer{Errno: syscall.ENOENT, Text: "no such thing"}, a)
	a = failed(errors.New(strings.Repeat("x", MaxAnswer)))
	assert.Len(t, a.Text, maxText)
	assert.Less(t, len(a.encode()), MaxAnswer)
}

func FuzzDecodePlan(f *testing.F) {
	f.Add(Plan{Steps: []Step{{Do: Say, Text: "x"}}}.Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodePlan(text)
		if err == nil {
			again, err := decodePlan(p.Encode())
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(p, again, cmpopts.EquateEmpty()))
		}
	})
}

// TestImportsStayLight shows that the package initialises before anything heavy:
// packages do so in the order of their paths as soon as their imports have.
func TestImportsStayLight(t *testing.T) {
	t.Parallel()
	light := map[string]bool{
		"encoding/binary": true, "drover/core/agent/pack": true, "errors": true, "fmt": true, "cmp": true, "io": true, "os": true, "os/signal": true, "slices": true, "strconv": true, "strings": true, "syscall": true, "unsafe": true,
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			assert.True(t, light[strings.Trim(i.Path.Value, `"`)], "%s imports %s", name, i.Path.Value)
		}
	}
}

// TestForksOnlyCall shows that nothing which runs in a fork may grow its stack: it would wait there for threads that
// the fork does not have.
func TestForksOnlyCall(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range []string{"run.go", "hide.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name == "prepare" {
				continue
			}
			found++
			require.NotNil(t, fn.Doc, fn.Name.Name)
			var lines []string
			for _, line := range fn.Doc.List {
				lines = append(lines, line.Text)
			}
			assert.Contains(t, lines, "//go:nosplit", fn.Name.Name)
			assert.Contains(t, lines, "//go:norace", fn.Name.Name)
			ast.Inspect(fn, func(n ast.Node) bool {
				for _, no := range []string{"append", "make", "new", "panic", "Sprint", "Errorf"} {
					if id, ok := n.(*ast.Ident); ok {
						assert.NotEqual(t, no, id.Name, "%s in %s", no, fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	assert.Positive(t, found)
}

// A process is bound to processors before it starts another one; a number that is none ends it.
func TestPin(t *testing.T) {
	t.Parallel()
	var may unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &may))
	first := uint64(0)
	for !may.IsSet(int(first)) {
		first++
	}
	out, err := enterWith(t, Plan{Steps: []Step{{Do: Pin, Num: []uint64{first}}, {Do: Say, Text: "done"}}}.Encode())
	require.NoError(t, err, out)
	assert.Equal(t, "done", out)
	for _, num := range [][]uint64{nil, {1024}} {
		_, err = enterWith(t, Plan{Steps: []Step{{Do: Pin, Num: num}, {Do: Say, Text: "done"}}}.Encode())
		assert.Error(t, err)
	}
}
