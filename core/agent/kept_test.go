package agent_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

const mostState = 1 << 20

// What one VM gives another one takes, and restores.
func TestStatesGoFromVMToVM(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		from, _ := again(t, kind)
		exit, o := from.sh(t, `mkdir -p out/deep && printf '#!/bin/sh\necho built' >out/prog && chmod 755 out/prog && ln -s out/prog run
			touch -d @1000000000 out/prog; : >out/deep/empty; chmod 0 out/deep/empty out/deep`, nil)
		require.Zero(t, exit.Code, "%s", o.err)
		require.NoError(t, from.client.Keep(ctx, "built"))
		var state bytes.Buffer
		n, err := from.client.Give(ctx, "built", &state, mostState)
		require.NoError(t, err)
		require.EqualValues(t, state.Len(), n)

		to, _ := again(t, kind)
		require.NoError(t, to.client.Stage(ctx, "work", packed(t, map[string]string{"other": "files"})))
		require.NoError(t, to.client.Take(ctx, "built", bytes.NewReader(state.Bytes())))
		for range 2 {
			require.NoError(t, to.client.Reset(ctx, "built"))
			_, o = to.sh(t, `find . | LC_ALL=C sort; ./run; stat -c %Y out/prog`, nil)
			require.Equal(t, ".\n./out\n./out/deep\n./out/deep/empty\n./out/prog\n./run\nbuilt\n1000000000\n", string(o.out), "%s", o.err)
			_, _ = to.sh(t, `rm -rf * ; echo evil >run`, nil)
		}
		var same bytes.Buffer
		_, err = to.client.Give(ctx, "built", &same, mostState)
		require.NoError(t, err)
		require.Equal(t, state.Bytes(), same.Bytes())

		assert.NoError(t, to.client.Take(ctx, "built", bytes.NewReader(state.Bytes())), "in the place of one of that name")
		_, err = to.client.Give(ctx, "unknown", &same, mostState)
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
		_, err = to.client.Give(ctx, "built", &same, n-1)
		assert.Equal(t, core.CodeLimit, core.CodeOf(err))
	})
}

// entryOf is one entry of a state.
func entryOf(kind byte, mode uint32, size int64, name, content string) string {
	b := []byte{kind}
	b = binary.BigEndian.AppendUint32(b, mode)
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
	return string(b) + name + "\x00\x00\x00\x00\x00\x00\x00\x01" + content
}

// Bytes that no agent has written are refused, and do no harm.
func TestStatesAreChecked(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v, _ := again(t, inside)
	end, dir := entryOf('E', 0, 0, "", ""), entryOf('D', 0o755, 0, "d", "")
	good := dir + entryOf('F', 0o644, 1, "d/f", "x") + entryOf('L', 0o777, 4, "d/l", "/etc") + end
	for name, c := range map[string]struct {
		state string
		code  core.Code
	}{
		"nothing":                 {"", core.CodeInvalid},
		"no end":                  {strings.TrimSuffix(good, end), core.CodeInvalid},
		"half an entry":           {good[:10], core.CodeInvalid},
		"too short a file":        {entryOf('F', 0o644, 2, "f", "x"), core.CodeInvalid},
		"more after the end":      {good + "x", core.CodeInvalid},
		"an unknown kind":         {entryOf('X', 0o644, 0, "f", "") + end, core.CodeInvalid},
		"a path that escapes":     {entryOf('F', 0o644, 1, "../f", "x") + end, core.CodeInvalid},
		"an absolute path":        {entryOf('F', 0o644, 1, "/f", "x") + end, core.CodeInvalid},
		"no folder above":         {entryOf('F', 0o644, 1, "d/f", "x") + end, core.CodeInvalid},
		"a file above":            {entryOf('F', 0o644, 0, "d", "") + entryOf('F', 0o644, 1, "d/f", "x") + end, core.CodeInvalid},
		"a link above":            {entryOf('L', 0o777, 4, "d", "/etc") + entryOf('F', 0o644, 1, "d/f", "x") + end, core.CodeInvalid},
		"twice the same":          {dir + dir + end, core.CodeInvalid},
		"a file and a link":       {entryOf('F', 0o644, 0, "f", "") + entryOf('L', 0o777, 1, "f", "/") + end, core.CodeInvalid},
		"a link to nothing":       {entryOf('L', 0o777, 0, "l", "") + end, core.CodeInvalid},
		"a link of huge size":     {entryOf('L', 0o777, 1<<20, "l", "") + end, core.CodeInvalid},
		"a folder with content":   {entryOf('D', 0o755, 1, "d", "x") + end, core.CodeInvalid},
		"a set-id bit":            {entryOf('F', 0o4755, 0, "f", "") + end, core.CodeInvalid},
		"below no size":           {entryOf('F', 0o644, -1, "f", "") + end, core.CodeInvalid},
		"a file of terrible size": {entryOf('F', 0o644, 1<<62, "f", "") + end, core.CodeLimit},
		"too many":                {many(9000) + end, core.CodeLimit},
	} {
		err := v.client.Take(ctx, "built", strings.NewReader(c.state))
		assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
	assert.Equal(t, core.CodeInvalid, core.CodeOf(v.client.Take(ctx, "No Name", strings.NewReader(good))))
	require.NoError(t, v.client.Take(ctx, "built", strings.NewReader(good)), "refusals do no harm")
	built := "built"
	_, o := v.sh(t, `find . | LC_ALL=C sort; cat d/f; readlink d/l`, func(r *agent.Run) { r.Reset = &built })
	assert.Equal(t, ".\n./d\n./d/f\n./d/l\nx/etc\n", string(o.out))
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(entryOf('F', 0o644, 0, "f"+strings.Repeat("x", i%100)+string(rune('a'+i/100%26))+string(rune('a'+i/2600)), ""))
	}
	return b.String()
}

// Once the host has all of a state, the agent is free for its next call.
func TestAnAgentThatGaveIsFree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		ctx := context.Background()
		v, _ := again(t, kind)
		for _, script := range []string{"true", "head -c 300000 /dev/zero >large"} {
			_, o := v.sh(t, script, nil)
			name := strings.Fields(script)[0]
			require.NoError(t, v.client.Keep(ctx, name), "%s", o.err)
			for range 100 {
				var state bytes.Buffer
				_, err := v.client.Give(ctx, name, &state, mostState)
				require.NoError(t, err)
				require.NoError(t, v.client.Reset(ctx, ""))
			}
		}
	})
}
