package agent_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
)

// A build that shuts its own folder is kept like any other: its end is no fault of the VM.
func TestKeepWhatWasShut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v, _ := again(t, kind)
		_, _ = v.sh(t, `mkdir d; echo x >d/f; chmod 0 d .`, nil)
		require.NoError(t, v.client.Keep(context.Background(), "built"))
		require.NoError(t, v.client.Reset(context.Background(), "built"))
		_, o := v.sh(t, `chmod 700 d; cat d/f`, nil)
		assert.Equal(t, "x\n", string(o.out), "%s", o.err)
	})
}

// The same goes for what is collected.
func TestCollectWhatWasShut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		_, _ = v.sh(t, `echo x >f; chmod 0 .`, nil)
		got := map[string]string{}
		_, err := v.client.Collect(context.Background(), "work", agent.Collection{Paths: []string{"f"}}, func(f agent.Taken, r io.Reader) error {
			text, err := io.ReadAll(r)
			got[f.Path] = string(text)
			return err
		})
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"f": "x\n"}, got)
	})
}
