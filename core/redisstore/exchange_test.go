package redisstore_test

import (
	"context"
	"fmt"
	"testing"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

func TestExchangeTakesRequestAndVMOrNeither(t *testing.T) {
	t.Parallel()
	h := coretest.NewCluster(t, coretest.Real(t).Open(t), "h1", "p1")
	require.Empty(t, h.Exchange(t, 1, 1).Claims, "nothing there")
	h.Submit(t, coretest.Spec("r1", "p1", "ann"))
	require.Empty(t, h.Exchange(t, 2, 1).Claims, "a request without a VM")
	vms := h.AddVMs(t, 2)
	got := h.Exchange(t, 3, 5)
	require.Len(t, got.Claims, 1, "a VM without a request stays")
	require.Equal(t, vms[0], got.Claims[0].VM)
	require.Equal(t, "r1-1", got.Claims[0].Key)
	require.Equal(t, "r1", got.Claims[0].ReadSpec().ID)
	require.Equal(t, 1, got.Slots)
	clean, err := h.Store.CleanVMs(context.Background(), "h1", "p1")
	require.NoError(t, err)
	require.Equal(t, vms[1:], clean)
}

func TestExchangeRepeatedAnswersTheSame(t *testing.T) {
	t.Parallel()
	h := coretest.NewCluster(t, coretest.Real(t).Open(t), "h1", "p1")
	h.AddVMs(t, 5)
	for i := range 5 {
		h.Submit(t, coretest.Spec(fmt.Sprintf("r%d", i), "p1", "ann"))
	}
	first := h.Exchange(t, 1, 2)
	require.Len(t, first.Claims, 2)
	require.Equal(t, first, h.Exchange(t, 1, 2))
	done := core.Finish{Key: first.Claims[0].Key, Token: first.Claims[0].Token, Outcome: core.OutcomeDone}
	second := h.Exchange(t, 2, 1, done)
	require.Equal(t, []bool{true}, second.Finished)
	require.Equal(t, second, h.Exchange(t, 2, 1, done))
	_, err := h.Store.Exchange(context.Background(), h.Call(1, 2))
	require.Equal(t, core.CodeStale, core.CodeOf(err), "%v", err)
}

func TestTurns(t *testing.T) {
	t.Parallel()
	h := coretest.NewCluster(t, coretest.Real(t).Open(t), "h1", "p1")
	h.AddVMs(t, 20)
	var flood []core.Spec
	for i := range 10 {
		flood = append(flood, coretest.Spec(fmt.Sprintf("a%d", i), "p1", "ann"))
	}
	h.Submit(t, flood...)
	h.Submit(t, coretest.Spec("b0", "p1", "bob"), coretest.Spec("b1", "p1", "bob"))
	var order []string
	for seq := int64(1); seq <= 6; seq++ {
		order = append(order, h.Exchange(t, seq, 1).Claims[0].Key)
	}
	require.Equal(t, []string{"a0-1", "b0-1", "a1-1", "b1-1", "a2-1", "a3-1"}, order)
	got := h.Exchange(t, 7, 6)
	require.Len(t, got.Claims, 6)
}
