package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func hostWishes(t *testing.T, s school.ResultStore) {
	put := func(want bool, w core.HostWish) core.HostWish {
		t.Helper()
		is, err := s.PutHostWish(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, want, is)
		return w
	}
	are := func(host string, want ...core.HostWish) {
		t.Helper()
		all, err := s.HostWishes(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, append([]core.HostWish{}, want...), append([]core.HostWish{}, all...))
	}
	are("")
	b := put(true, core.HostWish{Host: "b", Kind: core.WishDrain, By: "olga", At: 5, Until: 77})
	put(true, core.HostWish{Host: "a", Kind: core.WishFailed, By: "watchdog", Reason: "no ping", At: 10})
	probation := put(true, core.HostWish{Host: "a", Kind: core.WishProbation, Reason: "it flaps, über", At: 3, Until: 9, Needed: 3})
	lifted := put(true, core.HostWish{Host: "a", Kind: core.WishFailed, Lifted: true, By: "watchdog", At: 20})
	put(false, core.HostWish{Host: "a", Kind: core.WishFailed, By: "watchdog", Reason: "no ping", At: 19})
	are("a", lifted, probation)
	are("", lifted, probation, b)
	are("c")
	again := put(true, core.HostWish{Host: "a", Kind: core.WishFailed, By: "watchdog", Reason: "at the same moment", At: 20})
	are("a", again, probation)

	gone, err := s.ForgetHostWishes(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 2, gone)
	gone, err = s.ForgetHostWishes(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, gone)
	are("", b)
	older := put(true, core.HostWish{Host: "a", Kind: core.WishFailed, At: 1})
	are("", older, b)
}

func hostWishesRefuse(t *testing.T, s school.ResultStore) {
	good := core.HostWish{Host: "a", Kind: core.WishDrain, At: 1}
	for name, c := range map[string]struct {
		change func(*core.HostWish)
		want   core.Code
	}{
		"host": {func(w *core.HostWish) { w.Host = "a b" }, core.CodeInvalid},
	} {
		w := good
		c.change(&w)
		_, err := s.PutHostWish(t.Context(), w)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	together(t, core.MaxHostWishes, func(i int) error {
		_, err := s.PutHostWish(t.Context(), core.HostWish{Host: fmt.Sprintf("h%d", i), Kind: core.WishDrain, At: 1})
		return err
	})
	_, err := s.PutHostWish(t.Context(), good)
	requireCode(t, core.CodeLimit, err)
	is, err := s.PutHostWish(t.Context(), core.HostWish{Host: "h1", Kind: core.WishDrain, Lifted: true, At: 2})
	require.NoError(t, err, "one that is there can still be changed")
	require.True(t, is)
}

// raceHostWishes shows that of wishes made at once the youngest stands, whichever comes first.
func raceHostWishes(t *testing.T, s school.ResultStore) {
	var turn, youngest atomic.Int64
	race(t, func(int) error {
		w := core.HostWish{Host: "a", Kind: core.WishFailed, At: 1000 - turn.Add(1)}
		is, err := s.PutHostWish(t.Context(), w)
		for was := youngest.Load(); is && was < w.At && !youngest.CompareAndSwap(was, w.At); was = youngest.Load() {
		}
		return err
	})
	all, err := s.HostWishes(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.EqualValues(t, 999, all[0].At)
	require.EqualValues(t, 999, youngest.Load())
}
