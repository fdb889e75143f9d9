package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

// pair is two VMs: in one a harness runs that is away, in the other what it calls for.
type pair struct {
	*vm       // of the harness
	box   *vm // of the submission
	limit core.Limits
}

// paired starts both, of the kind that is most like real VMs.
func paired(t *testing.T) *pair {
	t.Helper()
	kind := inside
	if os.Getuid() != 0 {
		kind = single
	}
	p := &pair{vm: grading(t, kind)}
	p.box, _ = again(t, kind)
	require.NoError(t, p.client.Stage(context.Background(), "submission", packed(t, map[string]string{"sub/a": "submitted"})))
	return p
}

// harness runs a shell script whose calls the other VM answers. A fault of that VM ends it.
func (p *pair) harness(t *testing.T, script string) (agent.Exit, output, error) {
	t.Helper()
	ctx, fail := context.WithCancelCause(context.Background())
	defer fail(nil)
	answered := make(chan error, 1)
	go func() {
		for {
			call, err := p.client.NextCall(ctx)
			if err == nil {
				_, err = p.box.client.Answer(call, p.limit)
				call.Close()
			}
			if err != nil || ctx.Err() != nil {
				fail(err)
				answered <- err
				return
			}
		}
	}()
	var o output
	exit, err := p.client.Run(ctx, agent.Run{
		Args: []string{"/bin/sh", "-c", script}, Harness: true, Away: true, Limits: p.limit,
		Env: []string{"PATH=/usr/bin:/bin:" + filepath.Join(p.dir, "bin"), "GORACE=atexit_sleep_ms=0", "DROVER_SECRET=in the environment", "DROVER_SUBMISSION=" + filepath.Join(p.home, "submission")},
	}, o.sink)
	if err != nil {
		err = context.Cause(ctx)
	}
	fail(nil)
	<-answered
	return exit, o, err
}

func (p *pair) lines(t *testing.T, script string) string {
	t.Helper()
	exit, o, err := p.harness(t, script)
	require.NoError(t, err)
	require.Zero(t, exit.Code, "%s\n%s", o.out, o.err)
	require.Empty(t, string(o.err))
	return string(o.out)
}

// A harness in one VM and its box in another: all that harnesses do with a box of their own works.
func TestBoxInAnotherVM(t *testing.T) {
	t.Parallel()
	p := paired(t)
	for name, c := range boxed {
		t.Run(name, func(t *testing.T) {
			if name == "what was submitted" {
				return // it can change its own copy there
			}
			exit, o, err := p.harness(t, c.script)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(o.out), "%+v %s", exit, o.err)
			for _, v := range []*vm{p.vm, p.box} {
				status, err := v.client.Status(context.Background())
				require.NoError(t, err)
				assert.Zero(t, status.Processes)
			}
		})
	}
}

// Both VMs see what the harness has put beside the submission, and nothing else of each other.
func TestWhatTwoVMsShare(t *testing.T) {
	t.Parallel()
	p := paired(t)
	assert.Equal(t, "submitted", p.lines(t, `drover-run -- cat "$DROVER_SUBMISSION/sub/a"`))
	assert.Empty(t, p.lines(t, `cat "$DROVER_SUBMISSION/sub/a" >/dev/null; drover-run -- sh -c 'echo changed >"$DROVER_SUBMISSION/sub/a"; : >"$DROVER_SUBMISSION/new"; : >left'`))
	assert.Equal(t, "submitted0\n", p.lines(t, `drover-run -- cat "$DROVER_SUBMISSION/sub/a"; drover-run -- ls | wc -l`), "of what a command did there nothing is left")
	assert.Equal(t, "sub\n", p.lines(t, `ls "$DROVER_SUBMISSION"`), "nothing comes back but its output")
	assert.Equal(t, "driven by it\n", p.lines(t, `mkdir "$DROVER_SUBMISSION/d"; printf '#!/bin/sh\necho driven "$@"' >"$DROVER_SUBMISSION/d/drive"; chmod 755 "$DROVER_SUBMISSION/d/drive"; drover-run -- "`+filepath.Join(p.box.home, "submission")+`/d/drive" by it`))
	assert.Equal(t, "yes\nno\n", p.lines(t, `echo $DROVER_PEER; drover-run -- sh -c 'echo ${DROVER_PEER:-no}'`))
	assert.Equal(t, "secret\n", p.lines(t, `echo secret >mine; cat mine; drover-run -- find . -name mine`))
	assert.Contains(t, p.lines(t, `drover-run --usage u -- true; cat u`), `"harness_held_by":"peer"`)
	_, o, err := p.harness(t, `mkfifo "$DROVER_SUBMISSION/pipe"; drover-run -- true; echo $?; rm "$DROVER_SUBMISSION/pipe"; env -u DROVER_PEER drover-run -- true; echo $?`)
	require.NoError(t, err)
	assert.Equal(t, "125\n125\n", string(o.out))
	_, bad, err := p.harness(t, `for name in '../x' 'a b' "$(printf 'a\nb')" none; do drover-run --with "$name" -- true 2>/dev/null; echo $?; done; drover-run -- echo on`)
	require.NoError(t, err)
	assert.Equal(t, "125\n125\n125\n125\non\n", string(bad.out))
	assert.Contains(t, string(o.err), "submission/pipe is neither a file nor a folder")
	assert.Contains(t, string(o.err), "DROVER_PEER is not in the environment")
}

// Many calls at a time wait for their turn; a harness that ends takes what it called for along.
func TestCallsOfAHarnessAway(t *testing.T) {
	t.Parallel()
	p := paired(t)
	assert.Len(t, strings.Fields(p.lines(t, `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do drover-run -- sh -c ': >f; ls' & done; wait`)), 20)
	exit, o, err := p.harness(t, `drover-run -- sh -c 'echo begun; sleep 1000' >out & while ! [ -s out ]; do sleep 0.01; done; echo ended`)
	require.NoError(t, err)
	assert.Equal(t, "ended\n", string(o.out), "%+v %s", exit, o.err)
	for _, v := range []*vm{p.vm, p.box} {
		status, err := v.client.Status(context.Background())
		require.NoError(t, err)
		assert.Zero(t, status.Processes)
	}
}

// A VM that fails is no answer: the grading has failed, and not the command.
func TestBoxThatFails(t *testing.T) {
	t.Parallel()
	p := paired(t)
	p.box.stop(t)
	_, _, err := p.harness(t, `drover-run -- true; sleep 1000`)
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
}

// A host that waits for calls hears that the harness's VM has ended, and may stop waiting.
func TestNobodyCalls(t *testing.T) {
	t.Parallel()
	v := grading(t, plain)
	ctx, cancel := context.WithCancel(context.Background())
	heard := make(chan error, 1)
	go func() {
		_, err := v.client.NextCall(ctx)
		heard <- err
	}()
	cancel()
	require.ErrorIs(t, <-heard, context.Canceled)
	other, err := agent.Dial(v.dir)
	require.NoError(t, err)
	_, err = other.NextCall(context.Background())
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "it is not assigned to that one: %v", err)
	go func() {
		_, err := v.client.NextCall(context.Background())
		heard <- err
	}()
	v.stop(t)
	err = <-heard
	assert.Equal(t, core.CodeBadVM, core.CodeOf(err), "%v", err)
	assert.NotErrorIs(t, err, context.Canceled)
}
