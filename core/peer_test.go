package core_test

import (
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestPeersAreNamedAfterTheirVMs(t *testing.T) {
	t.Parallel()
	pair := core.PairVM("v1")
	peer := core.PeerOf(pair)
	require.True(t, core.ValidName(peer), peer)
	require.Equal(t, pair, core.PairOf(peer))
	for _, other := range []string{"v1", pair, "v1-peer", "-peer", peer + "-peer"} {
		require.Empty(t, core.PairOf(other), other)
	}
	require.Empty(t, core.PeerOf("v1"))
	require.Empty(t, core.PeerOf(peer))
	p := core.DefaultPool("p")
	alone := p.Size()
	p.Peer = true
	require.Equal(t, 2*alone.Memory, p.Size().Memory, "a pair takes twice the host's memory")
	require.NotEqual(t, core.DefaultPool("p").Kind(), p.Kind())
}
