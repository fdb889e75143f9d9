package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestHostGroupCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.HostGroup {
		return core.HostGroup{Name: "a", Provider: core.CloudCommand, Profile: []byte(`{"type":"m"}`), Size: core.Size{CPU: 1}, Labels: "zone=a", Max: core.MaxGroupHosts}
	}, core.HostGroup.Check, map[string]refusal[core.HostGroup]{
		"name":         {func(g *core.HostGroup) { g.Name = "a b" }, core.CodeInvalid},
		"provider":     {func(g *core.HostGroup) { g.Provider = "moon" }, core.CodeInvalid},
		"profile":      {func(g *core.HostGroup) { g.Profile = []byte("{") }, core.CodeInvalid},
		"long profile": {func(g *core.HostGroup) { g.Profile = []byte(`"` + strings.Repeat("x", core.MaxProfileBytes) + `"`) }, core.CodeLimit},
		"size":         {func(g *core.HostGroup) { g.Size.Disk = -1 }, core.CodeInvalid},
		"labels":       {func(g *core.HostGroup) { g.Labels = "zone" }, core.CodeInvalid},
		"min":          {func(g *core.HostGroup) { g.Min = -1 }, core.CodeInvalid},
		"min over max": {func(g *core.HostGroup) { g.Min, g.Max = 3, 2 }, core.CodeInvalid},
		"max":          {func(g *core.HostGroup) { g.Max++ }, core.CodeLimit},
		"revision":     {func(g *core.HostGroup) { g.Revision = -1 }, core.CodeInvalid},
	})
}

func TestInstanceCheck(t *testing.T) {
	t.Parallel()
	refuses(t, func() core.Instance {
		return core.Instance{ID: "a", Group: "g", State: core.InstanceRunning, Type: "m6i.large", Region: "eu", Foreign: "i-1", Created: 5, Since: 6, Deadline: 7, Why: "ü"}
	}, core.Instance.Check, map[string]refusal[core.Instance]{
		"id":       {func(i *core.Instance) { i.ID = "A" }, core.CodeInvalid},
		"group":    {func(i *core.Instance) { i.Group = "" }, core.CodeInvalid},
		"state":    {func(i *core.Instance) { i.State = "" }, core.CodeInvalid},
		"type":     {func(i *core.Instance) { i.Type = "a\nb" }, core.CodeInvalid},
		"region":   {func(i *core.Instance) { i.Region = strings.Repeat("x", core.MaxLine+1) }, core.CodeLimit},
		"foreign":  {func(i *core.Instance) { i.Foreign = "\xff" }, core.CodeInvalid},
		"tries":    {func(i *core.Instance) { i.Tries = -1 }, core.CodeInvalid},
		"created":  {func(i *core.Instance) { i.Created = -1 }, core.CodeInvalid},
		"since":    {func(i *core.Instance) { i.Since = -1 }, core.CodeInvalid},
		"deadline": {func(i *core.Instance) { i.Deadline = -1 }, core.CodeInvalid},
		"why":      {func(i *core.Instance) { i.Why = strings.Repeat("x", core.MaxReason+1) }, core.CodeLimit},
		"revision": {func(i *core.Instance) { i.Revision = -1 }, core.CodeInvalid},
	})
}

// An instance makes exactly the moves of the table.
func TestInstanceMoves(t *testing.T) {
	t.Parallel()
	for _, from := range append(core.InstanceStates(), "") {
		for _, to := range core.InstanceStates() {
			now := core.Instance{ID: "a", Group: "g", State: to, Created: 5}
			was := now
			was.State = from
			before := &was
			if from == "" {
				before = nil
			}
			legal := from == to || slices.ContainsFunc(core.InstanceTransitions(), func(tr core.Transition) bool { return tr.From == string(from) && tr.To == string(to) })
			require.Equal(t, !legal, core.Is(now.CheckMove(before), core.CodeConflict), "%s → %s", from, to)
		}
	}
	was := core.Instance{ID: "a", Group: "g", State: core.InstanceValid, Created: 5}
	for _, now := range []core.Instance{{ID: "a", Group: "h", State: core.InstanceValid, Created: 5}, {ID: "a", Group: "g", State: core.InstanceValid, Created: 6}} {
		require.True(t, core.Is(now.CheckMove(&was), core.CodeConflict))
	}
}
