package agent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
)

// collect takes all of a place, and says what was skipped and why.
func collect(t *testing.T, v *vm, want agent.Collection) (files, skipped map[string]string) {
	t.Helper()
	files, skipped = map[string]string{}, map[string]string{}
	out, err := v.client.Collect(context.Background(), wire.Work, want, func(f agent.Taken, r io.Reader) error {
		text, err := io.ReadAll(r)
		files[f.Path] = string(text)
		assert.Len(t, text, int(f.Size))
		return err
	})
	require.NoError(t, err)
	for _, s := range out {
		skipped[s.Path] = s.Why
	}
	return files, skipped
}

func TestCollect(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		exit, o := v.sh(t, `mkdir -p out/a/b && echo one > out/one && echo two > out/a/b/two && printf 3 > three && : > out/none && echo no > other && chmod 000 out/one`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		files, skipped := collect(t, v, agent.Collection{Paths: []string{"out", "three", "missing", "missing/too", "out/one"}})
		if kind == single && files["out/one"] == "" {
			assert.Equal(t, wire.SkipRead, skipped["out/one"]) // the agent is who may not read it
			files["out/one"] = "one\n"
			delete(skipped, "out/one")
		}
		assert.Equal(t, map[string]string{"out/one": "one\n", "out/a/b/two": "two\n", "three": "3", "out/none": ""}, files)
		assert.Equal(t, map[string]string{"missing": wire.SkipAbsent, "missing/too": wire.SkipAbsent}, skipped)
		exit, _ = v.sh(t, "exit 4", nil)
		assert.Equal(t, 4, exit.Code, "the VM goes on")
	})
}

// TestCollectHostile has user code put everything in the way that has led others'
// sandboxes out: links to the host's files and to itself (CVE-2024-28185), what
// would be given away or waited for, and names that hurt who prints them.
func TestCollectHostile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("the host's"), 0o600))
	require.NoError(t, os.Chmod(secret, 0o644))
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		exit, o := v.sh(t, `mkdir out && cd out && ln -s "`+secret+`" file && ln -s / root && ln -s . loop && ln -s /proc/self/root proc &&
			ln -s ../../../../../../etc/passwd up && mkfifo pipe && echo own > plain && ln plain hard &&
			touch "$(printf 'a\nb')" "$(printf 'x\033[2Jy')" "$(printf 'bad\377')" -- -rf && head -c 1 /dev/zero > null`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		files, skipped := collect(t, v, agent.Collection{Paths: []string{"out", "out/root/etc/passwd", "out/file", "out/loop/plain"}})
		assert.Equal(t, map[string]string{"out/plain": "own\n", "out/hard": "own\n", "out/-rf": "", "out/null": "\x00"}, files)
		for _, name := range []string{"out/file", "out/root", "out/loop", "out/proc", "out/up", "out/pipe", "out/root/etc/passwd", "out/loop/plain"} {
			assert.Equal(t, wire.SkipKind, skipped[name], name)
		}
		for name, why := range skipped {
			assert.Regexp(t, "^[ -~]+$", name, "it can be printed")
			assert.Contains(t, []string{wire.SkipKind, wire.SkipName}, why, name)
		}
		assert.Len(t, skipped, 11)
	})
}

// TestCollectLinkedPlace replaces the place itself, and what lies on the way.
func TestCollectLinkedPlace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		exit, o := v.sh(t, `echo mine > file; mv ../work ../elsewhere 2>/dev/null && ln -s /etc ../work; mkdir dir && mv dir was && ln -s /etc dir; true`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		files, skipped := collect(t, v, agent.Collection{Paths: []string{"file", "passwd", "dir/passwd"}})
		assert.Equal(t, map[string]string{"file": "mine\n"}, files)
		assert.Equal(t, map[string]string{"passwd": wire.SkipAbsent, "dir/passwd": wire.SkipKind}, skipped)
	})
}

func TestCollectBounds(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	exit, o := v.sh(t, `mkdir many deep sizes && i=0; while [ $i -lt 300 ]; do : > many/$i; i=$((i+1)); done
		cd deep; i=0; while [ $i -lt 60 ]; do mkdir d && cd d && : > f; i=$((i+1)); done; cd /; cd "$HOME/work" 2>/dev/null || cd "$OLDPWD"; true`, nil)
	require.Zero(t, exit.Code, "%s", o.err)
	exit, o = v.sh(t, `truncate -s 1T sizes/hole || truncate -s 40M sizes/hole; head -c 3000 /dev/zero > sizes/a; head -c 3000 /dev/zero > sizes/b; head -c 10 /dev/zero > sizes/c`, nil)
	require.Zero(t, exit.Code, "%s", o.err)

	files, skipped := collect(t, v, agent.Collection{Paths: []string{"many"}, Files: 7})
	assert.Len(t, files, 7)
	assert.Len(t, skipped, wire.MaxSkipped, "and not all that was left out is told")
	files, skipped = collect(t, v, agent.Collection{Paths: []string{"sizes"}, Bytes: 4000})
	assert.Len(t, files, 2)
	assert.Equal(t, map[string]string{"sizes/b": wire.SkipRoom, "sizes/hole": wire.SkipRoom}, skipped)
	files, skipped = collect(t, v, agent.Collection{Paths: []string{"deep"}})
	assert.Len(t, files, wire.MaxDepth-2, "as deep as names may be")
	require.Len(t, skipped, 2)
	for name, why := range skipped {
		assert.Equal(t, wire.SkipDepth, why)
		assert.LessOrEqual(t, strings.Count(name, "/"), wire.MaxDepth)
	}

	for name, want := range map[string]agent.Collection{
		"nothing": {}, "absolute": {Paths: []string{"/etc/passwd"}}, "climbing": {Paths: []string{"../x"}}, "all": {Paths: []string{"."}},
		"many files": {Paths: []string{"x"}, Files: wire.MaxTaken + 1}, "many bytes": {Paths: []string{"x"}, Bytes: wire.MaxTakenBytes + 1},
		"below none": {Paths: []string{"x"}, Files: -1},
	} {
		_, err := v.client.Collect(context.Background(), wire.Work, want, nil)
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", name, err)
	}
	_, err := v.client.Collect(context.Background(), "elsewhere", agent.Collection{Paths: []string{"x"}}, nil)
	assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
	longest := agent.Collection{Paths: []string{strings.Repeat(`"`, 255) + "/" + strings.Repeat("<", 255), strings.Repeat("&/", 30) + "x", strings.Repeat(`\`, 255)}}
	_, skipped = collect(t, v, longest)
	assert.Len(t, skipped, 3, "paths that JSON makes longer")
	enough := errors.New("enough")
	_, err = v.client.Collect(context.Background(), wire.Work, agent.Collection{Paths: []string{"sizes"}}, func(agent.Taken, io.Reader) error { return enough })
	assert.ErrorIs(t, err, enough)
}
