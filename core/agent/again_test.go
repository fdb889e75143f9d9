package agent_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

// again starts a VM that can be reset: beside its home it has one folder to write to.
func again(t *testing.T, kind string) (*vm, string) {
	t.Helper()
	var scratch string
	v := assigned(t, kind, func(c *agent.Config) {
		scratch = filepath.Join(filepath.Dir(c.Home), "scratch")
		require.NoError(t, os.Mkdir(scratch, 0o700))
		require.NoError(t, os.Chmod(scratch, 0o777|os.ModeSticky))
		if os.Getuid() == 0 && kind == single {
			require.NoError(t, os.Chown(scratch, 1000, 1000))
		}
		c.Scratch = []string{scratch}
	})
	return v, scratch
}

func packed(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return &b
}

// What was kept comes back as it was, whatever a run made of it.
func TestResetPutsBackWhatWasKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		v, _ := again(t, kind)
		require.NoError(t, v.client.Stage(ctx, "work", packed(t, map[string]string{"a.c": "source", "sub/b": "b"})))
		exit, o := v.sh(t, `mkdir -p out/deep && printf '#!/bin/sh\necho built' >out/prog && chmod 755 out/prog && ln -s out/prog run
			touch -d @1000000000 out/prog && mkfifo pipe && : >out/deep/empty && chmod 0 out/deep/empty out/deep; chmod 0 .. 2>/dev/null; :`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		require.NoError(t, v.client.Keep(ctx, "built"))
		const show = `find . | LC_ALL=C sort; ./run; stat -c %Y out/prog; cat a.c sub/b`
		const want = ".\n./a.c\n./out\n./out/deep\n./out/deep/empty\n./out/prog\n./run\n./sub\n./sub/b\nbuilt\n1000000000\nsourceb"
		for range 3 {
			require.NoError(t, v.client.Reset(ctx, "built"))
			_, o = v.sh(t, show, nil)
			require.Equal(t, want, string(o.out), "%s", o.err)
			_, _ = v.sh(t, `printf evil >out/prog; rm -rf a.c sub; ln -s /etc sub; mv out gone; chmod 0 .`, nil)
		}
		require.NoError(t, v.client.Reset(ctx, ""))
		_, o = v.sh(t, `find . ../harness ../submission`, nil)
		require.Equal(t, ".\n../harness\n../submission\n", string(o.out))
		require.NoError(t, v.client.Stage(ctx, "work", packed(t, map[string]string{"again": "1"})), "places take archives again")
	})
}

// A run that resets first is as a reset and a run.
func TestRunResetsFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		v, scratch := again(t, kind)
		_, _ = v.sh(t, `echo built >built`, nil)
		require.NoError(t, v.client.Keep(ctx, "built"))
		_, _ = v.sh(t, `echo spoilt >built; echo x >more; echo x >`+scratch+`/f`, nil)
		from := func(name string) func(*agent.Run) { return func(r *agent.Run) { r.Reset = &name } }
		exit, o := v.sh(t, `cat *; ls -A `+scratch, from("built"))
		require.Zero(t, exit.Code)
		require.Equal(t, "built\n", string(o.out))
		_, o = v.sh(t, `ls -A`, from(""))
		require.Empty(t, string(o.out))
		unknown := "unknown"
		_, err := v.client.Run(ctx, agent.Run{Args: []string{"true"}, Reset: &unknown}, nil)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
		_, o = v.sh(t, `cat *`, from("built"))
		require.Equal(t, "built\n", string(o.out), "a refusal does no harm")

		require.NoError(t, os.RemoveAll(scratch))
		require.NoError(t, os.WriteFile(scratch, nil, 0o600))
		for _, name := range []string{"built", ""} {
			_, err := v.client.Run(ctx, agent.Run{Args: []string{"true"}, Reset: &name}, nil)
			require.ErrorIs(t, err, agent.ErrUnclean)
		}
		_, err = v.client.Run(ctx, agent.Run{Args: []string{"true"}}, nil)
		require.ErrorIs(t, err, agent.ErrUnclean, "the VM is bad for good")
	})
}

// Whatever a run leaves, nothing of it is there after a reset.
func TestResetLeavesNoTrace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		v, scratch := again(t, kind)
		for name, script := range map[string]string{
			"files":            `echo x >%[1]s/f; echo x >%[2]s/work/f; echo x >%[2]s/f; echo x >%[2]s/.hidden`,
			"closed folders":   `mkdir -p %[1]s/a/b/c/d; echo x >%[1]s/a/b/c/d/f; chmod 0 %[1]s/a/b/c/d %[1]s/a/b/c %[1]s/a/b %[1]s/a`,
			"thousands":        `cd %[1]s; i=0; while [ $i -lt 3000 ]; do : >f$i; i=$((i+1)); done`,
			"deep":             `cd %[1]s; p=$(printf 'd/%%.0s' $(seq 1900)); for n in 1; do mkdir -p $n/$p && cd -P $n/$p && mkdir -p $p && : >$p/f; cd %[1]s; done`,
			"names of the end": `cd %[1]s; mkdir -p .swept-1/x .swept-2/y/z a/b/c a/b/d; echo x >.swept-3; ln -s / .swept-4; ln -s /etc a/b/c/l`,
			"links":            `cd %[1]s; ln -s / root; ln -s . self; echo x >one; ln one two; mkdir d; ln -s ../../.. d/up`,
			"odd names":        "cd %[1]s; : >'a\nb'; mkdir -- '-rf' 'ÿ'; : >-rf/x",
			"fifos":            `mkfifo %[1]s/p; mkdir %[1]s/d; mkfifo %[1]s/d/p`,
			"places taken":     `cd %[2]s; mv work elsewhere; ln -s / work; rm -rf harness submission; : >harness`,
		} {
			exit, o := v.sh(t, fmt.Sprintf(script, scratch, v.home), func(r *agent.Run) { r.Dir = "/"; r.Limits.Timeout = time.Minute })
			if exit.Code != 0 {
				// Its home is another's in these VMs, and not to be written to.
				require.Contains(t, []string{"places taken", "files"}, name, "%s", o.err)
				require.NotEqual(t, single, kind, "%s: %s", name, o.err)
			}
			require.NoError(t, v.client.Reset(ctx, ""), name)
			_, o = v.sh(t, fmt.Sprintf(`cd %s && find . ! -name . ; cd %s && find . ! -name . | LC_ALL=C sort; stat -c %%a %[1]s`, scratch, v.home), nil)
			assert.Equal(t, "./harness\n./submission\n./work\n1777\n", string(o.out), name)
		}
	})
}

// An agent that cannot remove what user code left says so, in words for programs, too.
func TestUnclean(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		spoil := func(scratch string) { // no user code is known that can: the host does it
			require.NoError(t, os.RemoveAll(scratch))
			require.NoError(t, os.WriteFile(scratch, nil, 0o600))
		}
		v, scratch := again(t, kind)
		_, _ = v.sh(t, `:`, nil)
		spoil(scratch)
		for range 2 {
			err := v.client.Reset(ctx, "")
			require.ErrorIs(t, err, agent.ErrUnclean)
			require.Equal(t, core.CodeBadVM, core.CodeOf(err))
		}
		if kind == single || os.Getuid() != 0 {
			return // what the box's user has there is no other user's
		}
		v, scratch = again(t, kind)
		v.program(t)
		spoil(scratch)
		_, err := v.client.Run(ctx, agent.Run{
			Args: []string{"sh", "-c", "drover-run -- true"}, Dir: v.home, Harness: true, Limits: core.Limits{Timeout: time.Minute},
			Env: []string{"PATH=/usr/bin:/bin:" + filepath.Join(v.dir, "bin")},
		}, nil)
		require.ErrorIs(t, err, agent.ErrUnclean)
	})
}

// A folder that user code owns can be written on, too.
func TestResetForgetsWhatFoldersSay(t *testing.T) {
	t.Parallel()
	v, scratch := again(t, single)
	ctx := context.Background()
	exit, o := v.sh(t, fmt.Sprintf(`chmod 700 %[1]s; touch -a -d @12345 %[1]s; (setfattr -n user.note -v hello %[1]s && echo noted) 2>/dev/null`, scratch), nil)
	t.Logf("%+v %s", exit, o.out)
	require.NoError(t, v.client.Reset(ctx, ""))
	_, o = v.sh(t, fmt.Sprintf(`stat -c %%a %[1]s; [ "$(stat -c %%X %[1]s)" != 12345 ] && echo forgotten; getfattr -d %[1]s 2>/dev/null; :`, scratch), nil)
	require.Equal(t, "1777\nforgotten\n", string(o.out))
}

// Shared memory, semaphores and messages outlive processes, but no reset.
func TestResetForgetsSysV(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{inside, single} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			v, _ := again(t, kind)
			exit, o := v.sh(t, `ipcmk -M 4096 && ipcmk -S 3 && ipcmk -Q`, nil)
			if exit.Code == 127 {
				lacking(t, "ipcmk is not to be had here")
			}
			require.Zero(t, exit.Code, "%s", o.err)
			const count = `cat /proc/sysvipc/* | grep -vc key`
			_, o = v.sh(t, count, nil)
			require.Equal(t, "3\n", string(o.out))
			require.NoError(t, v.client.Reset(ctx, ""))
			_, o = v.sh(t, count, nil)
			require.Equal(t, "0\n", string(o.out))
		})
	}
}

// Files that are laid over others win, whatever stands in their way.
func TestLayWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		v, _ := again(t, kind)
		require.NoError(t, v.client.Stage(ctx, "work", packed(t, map[string]string{"same": "theirs", "dir/f": "theirs", "file": "theirs", "keep": "theirs"})))
		exit, o := v.sh(t, `ln -s /etc/passwd link; chmod 0 same; mkdir -p folder/x`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		require.NoError(t, v.client.Lay(ctx, "work", packed(t, map[string]string{"same": "ours1", "dir": "ours2", "file/below": "ours3", "link": "ours4", "folder": "ours5"})))
		_, o = v.sh(t, `cat same dir file/below link folder keep; stat -c %F link`, nil)
		require.Equal(t, "ours1ours2ours3ours4ours5theirsregular file\n", string(o.out), "%s", o.err)
	})
}

func TestKeepAndResetRefuse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v, _ := again(t, plain)
	for _, name := range []string{"", "A", "a/b", "..", "abcdefghijklmnopqrstuvwxyzabcdefg"} {
		require.Error(t, v.client.Keep(ctx, name), name)
	}
	require.NoError(t, v.client.Keep(ctx, "one"))
	require.NoError(t, v.client.Keep(ctx, "one"), "in the place of what was")
	require.Equal(t, core.CodeInvalid, core.CodeOf(v.client.Reset(ctx, "two")))
	for _, name := range []string{"two", "three", "four"} {
		require.NoError(t, v.client.Keep(ctx, name))
	}
	require.Equal(t, core.CodeLimit, core.CodeOf(v.client.Keep(ctx, "five")))
	require.NoError(t, v.client.Reset(ctx, "one"))

	w := assigned(t, plain, nil)
	require.Equal(t, core.CodeConflict, core.CodeOf(w.client.Reset(ctx, "")), "whose provider does not say what is to be emptied")
	exit, _ := w.sh(t, `i=0; while [ $i -lt 9000 ]; do : >f$i; i=$((i+1)); done`, nil)
	require.Zero(t, exit.Code)
	require.Equal(t, core.CodeLimit, core.CodeOf(w.client.Keep(ctx, "many")))
	exit, _ = w.sh(t, `rm -f f*; i=0; while [ $i -lt 40 ]; do mkdir d; cd d; i=$((i+1)); done`, nil)
	require.Zero(t, exit.Code)
	require.Equal(t, core.CodeLimit, core.CodeOf(w.client.Keep(ctx, "deep")))
	exit, _ = w.sh(t, `rm -rf d; head -c 40000000 /dev/zero >large`, nil)
	require.Zero(t, exit.Code)
	require.Equal(t, core.CodeLimit, core.CodeOf(w.client.Keep(ctx, "large")), "more than half of the disk")
	exit, _ = w.sh(t, `head -c 20000000 /dev/zero >large`, nil)
	require.Zero(t, exit.Code)
	require.NoError(t, w.client.Keep(ctx, "half"))
	require.Equal(t, core.CodeLimit, core.CodeOf(w.client.Keep(ctx, "other")), "together they are more than half")
	exit, o := w.sh(t, `rm -f large; echo alive`, nil)
	require.Zero(t, exit.Code)
	require.Equal(t, "alive\n", string(o.out))
}

// One of several runs gets a share of the limits, and the next one another.
func TestSharesOfLimits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v, _ := again(t, kind)
		share := func(l core.Limits, cpu time.Duration) func(*agent.Run) {
			return func(r *agent.Run) {
				r.Limits = core.Limits{Timeout: time.Minute, Output: 1 << 20, Pids: 400, Memory: 512 << 20}
				r.Share, r.CPU = l, cpu
			}
		}
		exit, _ := v.sh(t, `sleep 60`, share(core.Limits{Timeout: 50 * time.Millisecond}, 0))
		assert.True(t, exit.TimedOut)
		exit, _ = v.sh(t, `while :; do :; done`, share(core.Limits{}, 100*time.Millisecond))
		assert.True(t, exit.TimedOut, "%+v", exit)
		assert.GreaterOrEqual(t, exit.CPUMs, int64(100))
		exit, _ = v.sh(t, `(while :; do :; done) & (while :; do :; done) & wait`, share(core.Limits{}, 200*time.Millisecond))
		assert.True(t, exit.TimedOut, "%+v", exit)
		exit, o := v.sh(t, `printf %0100d 7`, share(core.Limits{Output: 10}, 0))
		assert.Len(t, o.out, 10)
		assert.True(t, exit.Truncated)
		exit, _ = v.sh(t, `sleep 60 & sleep 60 & sleep 60 & sleep 60 & wait`, share(core.Limits{Pids: 3}, 0))
		assert.Equal(t, core.LimitPids, exit.Limit(), "%+v", exit)
		exit, o = v.sh(t, `for i in 1 2 3 4 5 6; do sleep 0.1 & done; wait; printf %0100d 7`, share(core.Limits{}, 0))
		assert.Empty(t, exit.Limit(), "%+v", exit)
		assert.Len(t, o.out, 100, "what bound the runs before does not bind this one")
	})
}
