// Package cloudtest is the suite that every provider of machines passes, and every program that makes them.
package cloudtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
)

// Place is a place that has machines, for any number of clusters.
type Place struct {
	// Open returns a new provider for a cluster and a group. What others did is there.
	Open func(t *testing.T, cluster, group string) cloud.Provider
	// Half begins to make the machine of an order for a cluster and a group, and dies before it can say so. Nil: no
	// call can be stopped there.
	Half func(t *testing.T, cluster, group string, o cloud.Order)
	// Count is how many machines there are for a cluster that have not ended, counted without a provider.
	Count func(t *testing.T, cluster string) int
	// Program is what the provider runs for each call, with its settings; empty: it runs none.
	Program  []string
	Settings json.RawMessage
}

// Run checks what the interface says.
func Run(t *testing.T, place func(t *testing.T) Place) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Place){
		"made once": once, "made once by calls at once": atOnce, "ended once": ended, "others' are not listed": others,
		"unknown": unknown, "a crash before the answer": crash, "ended after a crash": endedHalf,
		"not understood": refused,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

func order(token string) cloud.Order {
	return cloud.Order{Token: token, Made: 1, Group: "burst", Type: "t.small", Labels: "zone=a", Secret: "s3cret"}
}

// alive are the tokens of machines that are listed and have not ended.
func alive(t *testing.T, p cloud.Provider) []string {
	t.Helper()
	all, err := p.List(t.Context())
	require.NoError(t, err)
	out := []string{}
	for _, m := range all {
		if !m.Gone {
			out = append(out, m.Token)
		}
	}
	slices.Sort(out)
	return out
}

func once(t *testing.T, place Place) {
	ctx := t.Context()
	p := place.Open(t, "one", "burst")
	require.Empty(t, alive(t, p))
	foreign, err := p.Create(ctx, order("burst-000001"))
	require.NoError(t, err)
	require.NotEmpty(t, foreign)
	same := order("burst-000001")
	same.Secret = "another"
	again, err := place.Open(t, "one", "burst").Create(ctx, same)
	require.NoError(t, err)
	require.Equal(t, foreign, again)
	other, err := p.Create(ctx, order("burst-000002"))
	require.NoError(t, err)
	require.NotEqual(t, foreign, other)
	require.Equal(t, 2, place.Count(t, "one"))
	all, err := p.List(ctx)
	require.NoError(t, err)
	at := slices.IndexFunc(all, func(m core.Machine) bool { return m.Token == "burst-000001" })
	require.GreaterOrEqual(t, at, 0)
	require.Positive(t, all[at].Created)
	all[at].Created = 0
	require.Equal(t, core.Machine{Foreign: foreign, Token: "burst-000001", Cluster: "one", Group: "burst"}, all[at])
}

func atOnce(t *testing.T, place Place) {
	const callers, tokens = 4, 3
	names := make([][callers]string, tokens)
	var wait sync.WaitGroup
	for token := range tokens {
		for caller := range callers {
			p := place.Open(t, "one", "burst")
			wait.Go(func() {
				foreign, err := p.Create(context.WithoutCancel(t.Context()), order("burst-00000"+string(rune('1'+token))))
				if err == nil {
					names[token][caller] = foreign
				} else {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	for _, its := range names {
		for _, name := range its {
			require.Equal(t, its[0], name)
		}
	}
	require.Equal(t, tokens, place.Count(t, "one"))
}

func ended(t *testing.T, place Place) {
	ctx := t.Context()
	p := place.Open(t, "one", "burst")
	foreign, err := p.Create(ctx, order("burst-000001"))
	require.NoError(t, err)
	_, err = p.Create(ctx, order("burst-000002"))
	require.NoError(t, err)
	require.NoError(t, p.Terminate(ctx, "burst-000001", foreign))
	require.NoError(t, p.Terminate(ctx, "burst-000001", foreign))
	require.NoError(t, place.Open(t, "one", "burst").Terminate(ctx, "burst-000002", ""), "by its token alone")
	require.NoError(t, p.Terminate(ctx, "burst-000002", ""))
	require.Empty(t, alive(t, p))
	require.Zero(t, place.Count(t, "one"))
}

func others(t *testing.T, place Place) {
	ctx := t.Context()
	p, other := place.Open(t, "one", "burst"), place.Open(t, "two", "burst")
	for _, one := range []cloud.Provider{p, other} {
		_, err := one.Create(ctx, order("burst-000001"))
		require.NoError(t, err)
	}
	_, err := other.Create(ctx, order("burst-000002"))
	require.NoError(t, err)
	require.Equal(t, []string{"burst-000001"}, alive(t, p))
	require.NoError(t, p.Terminate(ctx, "burst-000001", ""))
	require.NoError(t, p.Terminate(ctx, "burst-000002", ""))
	require.Empty(t, alive(t, p))
	require.Equal(t, []string{"burst-000001", "burst-000002"}, alive(t, other))
	require.Equal(t, 2, place.Count(t, "two"))
}

func unknown(t *testing.T, place Place) {
	p := place.Open(t, "one", "burst")
	require.NoError(t, p.Terminate(t.Context(), "burst-000009", ""))
	require.Empty(t, alive(t, p))
}

func crash(t *testing.T, place Place) {
	if place.Half == nil {
		t.Skip("no call can be stopped there")
	}
	place.Half(t, "one", "burst", order("burst-000001"))
	p := place.Open(t, "one", "burst")
	foreign, err := p.Create(t.Context(), order("burst-000001"))
	require.NoError(t, err)
	require.NotEmpty(t, foreign)
	require.Equal(t, []string{"burst-000001"}, alive(t, p))
	require.Equal(t, 1, place.Count(t, "one"))
}

func endedHalf(t *testing.T, place Place) {
	if place.Half == nil {
		t.Skip("no call can be stopped there")
	}
	place.Half(t, "one", "burst", order("burst-000001"))
	p := place.Open(t, "one", "burst")
	require.Equal(t, []string{"burst-000001"}, alive(t, p), "it is found by its token")
	require.NoError(t, p.Terminate(t.Context(), "burst-000001", ""))
	require.Empty(t, alive(t, p))
	require.Zero(t, place.Count(t, "one"))
}

// A program answers nothing that it does not understand.
func refused(t *testing.T, place Place) {
	if len(place.Program) == 0 {
		t.Skip("it is no program")
	}
	list := cloud.Ask{Protocol: cloud.Protocol, Op: cloud.OpList, Cluster: "one", Group: "burst", Settings: place.Settings}
	later, dance := list, list
	later.Protocol++
	dance.Op = "dance"
	for _, c := range []struct {
		ask  cloud.Ask
		exit []int
		says string
	}{
		{list, []int{0}, ""},
		{later, []int{cloud.ExitProtocol}, "protocol"},
		{dance, []int{cloud.ExitUsage, cloud.ExitInput}, "dance"},
	} {
		text, err := json.Marshal(c.ask)
		require.NoError(t, err)
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), place.Program[0], place.Program[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &errs
		cmd.Env = append(os.Environ(), "DROVER_PROTOCOL="+strconv.Itoa(c.ask.Protocol), "DROVER_OP="+c.ask.Op, "DROVER_CLUSTER=one", "DROVER_GROUP=burst", "DROVER_INSTANCE=")
		if err := cmd.Run(); err != nil {
			require.Empty(t, out.String())
		}
		require.Contains(t, c.exit, cmd.ProcessState.ExitCode(), "%s", errs.String())
		require.Contains(t, errs.String(), c.says)
	}
}
