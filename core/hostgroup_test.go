package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestHostGroupsThatCannotBe(t *testing.T) {
	t.Parallel()
	good := core.HostGroup{Name: "burst", Provider: core.CloudCommand, Profile: []byte(`{}`), Min: 1, Max: 2, MaxCores: 4, MaxCost: 5, Types: []core.MachineType{
		{Name: "t.small", Size: core.Size{Memory: 1 << 30}, Cores: 2, Cost: 1},
	}}
	require.NoError(t, good.Check())
	for name, change := range map[string]func(*core.HostGroup){
		"name":           func(g *core.HostGroup) { g.Name = "Burst" },
		"long name":      func(g *core.HostGroup) { g.Name = strings.Repeat("b", 41) },
		"provider":       func(g *core.HostGroup) { g.Provider = "paper" },
		"profile":        func(g *core.HostGroup) { g.Profile = []byte(`{`) },
		"min":            func(g *core.HostGroup) { g.Min = 3 },
		"labels":         func(g *core.HostGroup) { g.Labels = "zone" },
		"goal":           func(g *core.HostGroup) { g.Goal = time.Millisecond },
		"idle":           func(g *core.HostGroup) { g.IdleAfter = -time.Minute },
		"cores":          func(g *core.HostGroup) { g.MaxCores = -1 },
		"unknown cores":  func(g *core.HostGroup) { g.Types[0].Cores = 0 },
		"unknown cost":   func(g *core.HostGroup) { g.Types[0].Cost = 0 },
		"size":           func(g *core.HostGroup) { g.Types[0].Size.CPU = -1 },
		"type twice":     func(g *core.HostGroup) { g.Types = append(g.Types, g.Types[0]) },
		"nameless type":  func(g *core.HostGroup) { g.Types[0].Name = " " },
		"cost, no types": func(g *core.HostGroup) { g.Types = nil },
	} {
		g := good
		g.Types = append([]core.MachineType(nil), good.Types...)
		change(&g)
		require.Equal(t, core.CodeInvalid, core.CodeOf(g.Check()), name)
	}
	for name, change := range map[string]func(*core.HostGroup){
		"profile": func(g *core.HostGroup) { g.Profile = []byte(`"` + strings.Repeat("x", core.MaxProfileBytes) + `"`) },
		"max":     func(g *core.HostGroup) { g.Max = core.MaxGroupHosts + 1 },
		"types":   func(g *core.HostGroup) { g.Types = make([]core.MachineType, core.MaxMachineTypes+1) },
	} {
		g := good
		change(&g)
		require.Equal(t, core.CodeLimit, core.CodeOf(g.Check()), name)
	}
}

func TestWhichPoolsAGroupServes(t *testing.T) {
	t.Parallel()
	p := core.DefaultPool("p")
	p.Limits.Memory = 2 << 30
	g := core.HostGroup{Size: core.Size{Memory: 1 << 30}}
	require.False(t, g.Serves(p), "too small")
	g.Types = []core.MachineType{{Name: "little", Size: core.Size{Memory: 1 << 30}}, {Name: "large", Size: core.Size{Memory: 9 << 30}}}
	require.True(t, g.Serves(p))
	require.Equal(t, 4, g.Types[1].Holds(p))
	require.Equal(t, p.Max, core.MachineType{}.Holds(p), "a size that nobody said is enough")
	p.Requires = "gpu=yes"
	require.False(t, g.Serves(p))
	g.Labels = "gpu=yes,zone=a"
	require.True(t, g.Serves(p))
}
