package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/doctor"
	"drover/cmd/drover/operator"
	"drover/core"
	"drover/core/coretest/tier"
)

func TestAHostIsShownWithWhatItProved(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h, up := newUpCluster(t, selfTested)
	_, errs, code := h.run("run", "--", "true")
	require.Zero(t, code, errs)
	await(t, "it proves itself by the way", func() bool { return strings.Contains(up.said(), "VMs hold what they must on this host") })
	var v operator.HostView
	await(t, "it tells Redis", func() bool {
		v = jsonOf[operator.HostView](h, "host", "show", "h1")
		return len(v.Providers) == 1 && v.Providers[0].SelfTest != nil && v.Load != nil && len(v.VMsOf["default"]) > 0 // the next one is made
	})
	require.Equal(t, core.HostUp, v.State)
	require.Len(t, v.OwnersOf, 3)
	require.Positive(t, v.Load.Free.Memory)
	require.LessOrEqual(t, v.Load.Free.Memory, v.Memory)
	require.Positive(t, v.Load.Free.Disk)
	require.LessOrEqual(t, v.Load.Free.Disk, v.Disk)
	require.LessOrEqual(t, v.Load.Free.CPU, int64(1000*v.CPU))
	require.Positive(t, v.Disk)
	require.Len(t, v.Providers, 1)
	require.NotEmpty(t, v.Providers[0].Limits)
	require.NotEqual(t, core.VerdictFail, v.Providers[0].SelfTest.Verdict())
	require.Len(t, v.Providers[0].SelfTest.Attacks, 5)
	out, errs, code := h.run("host", "show", "h1")
	require.Zero(t, code, errs)
	for _, part := range []string{"vmfactory@h1#0: pid ", "VMs of default", "provider local", "can make VMs", "self-test", "fork bomb", "held", "drover "} {
		require.Contains(t, out, part)
	}
	require.Contains(t, out, "of that free")
	require.Contains(t, out, "again within 10s")
	require.Contains(t, out, "pressure")
	listed, _, code := h.run("host", "list")
	require.Zero(t, code)
	require.Regexp(t, `\d cpus, [\d.]+`, listed)
	require.Equal(t, []string{"default"}, v.Serves)
	await(t, "doctor finds nothing", func() bool { // of a process whose heartbeat is late it says that none runs, until the next one
		out, _, code = h.run("doctor")
		return code == 0
	})
	require.Contains(t, out, "passed the self-test of provider local")
	up.stop()
	h.requireNothingLeft()
}

func TestHostIsSetByCommand(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 1)
	out, errs, code := h.run("host", "set", "h1", "--label", "gpu=yes,zone=a", "--label", "zone=", "--reserve-memory", "1G", "--overcommit-cpu", "2")
	require.Zero(t, code, out+errs)
	v := jsonOf[operator.HostView](h, "host", "show", "h1")
	require.Equal(t, map[string]string{"gpu": "yes"}, v.Settings.Labels)
	require.EqualValues(t, 1<<30, v.Settings.Reserve.Memory)
	require.Equal(t, min(v.Disk/10, 10<<30), v.Settings.Reserve.Disk, "what is not named stays as it was")
	require.Equal(t, v.Memory-1<<30, v.Capacity.Memory)
	require.EqualValues(t, 2000*v.CPU, v.Capacity.CPU)
	out, errs, code = h.run("run", "--dry-run", "--", "true")
	require.Zero(t, code, errs)
	require.Contains(t, out, "VMs: ")
	require.Contains(t, out, "  h1: ")
	_, errs, code = h.run("pool", "set", "huge", "--memory", "100TiB")
	require.Zero(t, code, errs)
	for _, args := range [][]string{{"run", "--dry-run", "--pool", "huge", "--", "true"}, {"run", "--pool", "huge", "--", "true"}} {
		_, errs, code = h.run(args...)
		require.Equal(t, 2, code)
		require.Contains(t, errs, "no host can ever hold a VM of pool huge: it takes 100 TiB of memory")
	}
	_, errs, code = h.run("host", "set", "h1", "--overcommit-memory", "0.5")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "overcommit of memory 0.5 must be between 1 and 100")
	_, errs, code = h.run("host", "set", "h1", "--reserve-disk", "much")
	require.Equal(t, 2, code)
	require.Contains(t, errs, `--reserve-disk "much" is not a size`)
	_, _, code = h.run("host", "set", "h1", "--defaults")
	require.Zero(t, code)
	require.Zero(t, jsonOf[operator.HostView](h, "host", "show", "h1").Settings)
}

func TestAHostThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	attacks := func(v core.Verdict) *core.SelfTest {
		return &core.SelfTest{Attacks: []core.SelfCheck{{Name: "network", Verdict: core.VerdictHeld}, {Name: "memory hog", Verdict: v, Text: "had \x1b[31m64 MiB"}}}
	}
	limits := []core.LimitNote{{Name: "memory", HeldBy: "watchdog", Weak: true, Note: "run as root"}, {Name: "cpu"}}
	for name, c := range map[string]struct {
		note  core.ProviderNote
		level string // of doctor's finding; "" for none
		shown []string
	}{
		"failed":     {core.ProviderNote{Name: "local", Limits: limits, SelfTest: attacks(core.VerdictFail)}, doctor.FindingFail, []string{"self-test", "failed", "memory hog", "64 MiB"}},
		"weak":       {core.ProviderNote{Name: "local", Limits: limits, SelfTest: attacks(core.VerdictWeak)}, doctor.FindingWarn, []string{"weak", "watchdog, which can be outrun for a moment; run as root"}},
		"held":       {core.ProviderNote{Name: "local", Limits: limits, SelfTest: attacks(core.VerdictHeld)}, doctor.FindingOK, []string{"held", "nothing holds it"}},
		"untested":   {core.ProviderNote{Name: "local", Limits: limits}, doctor.FindingWarn, []string{"none was made"}},
		"not needed": {core.ProviderNote{Name: "lxc", Limits: limits}, "", []string{"none was made"}},
		"not ready":  {core.ProviderNote{Name: "local", Missing: "no user namespaces"}, "", []string{"no user namespaces"}},
		"no end":     {core.ProviderNote{Name: "local", Limits: limits, SelfTest: &core.SelfTest{Fault: "it could not be made"}}, doctor.FindingFail, []string{"it could not be made"}},
	} {
		var f doctor.Findings
		f.SelfTest("host h1", c.note, name != "not needed")
		if c.level == "" {
			require.Empty(t, f, name)
		} else {
			require.Len(t, f, 1, name)
			require.Equal(t, c.level, f[0].Level, name)
		}
		var out bytes.Buffer
		v := operator.HostView{HostInfo: core.HostInfo{Name: "h1", State: core.HostUp, Providers: []core.ProviderNote{c.note}, Broken: map[string]string{"default": "it failed"}}}
		require.NoError(t, v.Print(&out))
		for _, part := range append(c.shown, "broken pool default", "it failed") {
			require.Contains(t, out.String(), part, name)
		}
		require.NotContains(t, out.String(), "\x1b", name)
	}
}

func TestAHostIsShownWithWhatItMeasured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		load  *core.HostMeasure
		disk  int64
		shown []string
	}{
		"all": {
			&core.HostMeasure{At: 1, Within: 20_000, Free: core.Size{CPU: 1234, Memory: 3 << 30, Disk: 5 << 30}, Pressure: &core.Pressure{CPU: 12.5, IO: 3}}, 9 << 30,
			[]string{"1.2 processors, 3 GiB memory, 5 GiB disk; measured", "again within 20s", "waited for processors 12.5 % of the time, for memory 0 %, for disks 3 %"},
		},
		"no pressure, no disk": {&core.HostMeasure{Within: 10_000}, 0, []string{"0.0 processors, 0 B memory; measured", "not measured by its kernel"}},
		"nothing":              {nil, 0, []string{"its vmfactory has sent none lately"}},
	} {
		var out bytes.Buffer
		v := operator.HostView{HostInfo: core.HostInfo{Name: "h1", Disk: c.disk, Load: c.load}}
		require.NoError(t, v.Print(&out))
		for _, part := range c.shown {
			require.Contains(t, out.String(), part, name)
		}
	}
}
