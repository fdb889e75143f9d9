package testrunner

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWordIsFoundWhereverPiecesEnd(t *testing.T) {
	t.Parallel()
	const text = "#!/bin/sh\ndrover-run x"
	for size := range len(text) {
		f := &wordFinder{to: io.Discard, word: []byte("drover-run")}
		for rest := []byte(text); len(rest) > 0; {
			n, err := f.Write(rest[:min(size+1, len(rest))])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.True(t, f.found, size+1)
	}
	f := &wordFinder{to: io.Discard, word: []byte("drover-run")}
	for _, piece := range []string{"drover", "x-run", "drover-r", "drover-ru", "n"} {
		require.False(t, f.found)
		_, err := f.Write([]byte(piece))
		require.NoError(t, err)
	}
	require.True(t, f.found)
}
