package simulate_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/simulate"
)

// settings are so many hosts of 8 slots, with a pool that needs a GiB for each name.
func settings(hosts int, pools ...string) simulate.Settings {
	s := simulate.Settings{Hosts: simulate.Hosts(hosts, core.Size{CPU: 64_000, Memory: 8 << 30, Disk: 1 << 40}, 8), VMTime: 2 * time.Second}
	for _, name := range pools {
		p := core.DefaultPool(name)
		p.Limits.Memory = 1 << 30
		s.Pools = append(s.Pools, p)
	}
	return s
}

const tiny = `# three at once for two VMs, and one later
{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}
{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}

{"at_ms":0,"pool":"p","priority":"high","submitter":"bob","run_ms":500,"due_ms":2000}
{"at_ms":9000,"pool":"p","submitter":"ann","run_ms":1000,"due_ms":9500}
`

func TestATinyTrace(t *testing.T) {
	t.Parallel()
	trace, err := simulate.Read(strings.NewReader(tiny))
	require.NoError(t, err)
	r, err := simulate.Run(trace, settings(1, "p"))
	require.NoError(t, err)

	// Two find the VMs that are warm. The third gets one of the two that are made then, and two are kept again.
	wait := simulate.Wait{P95: 2000, P99: 2000, Most: 2000}
	require.Equal(t, wait, r.Wait)
	require.Equal(t, 3, r.Hits)
	require.InDelta(t, 0.75, r.HitRate, 0)
	require.Equal(t, 1, r.Cold)
	require.Equal(t, 2, r.Late, "the cold one, and one that runs for longer than it has")
	require.EqualValues(t, 10_000, r.Lasts)
	require.InDelta(t, 3500.0/3_600_000, r.Busy, 1e-9)
	require.InDelta(t, 3500.0/8/10_000, r.SlotsUsed, 1e-9)
	require.Equal(t, []simulate.Row{{Value: "p", Requests: 4, Cold: 1, Wait: wait}}, r.ByPool)
	require.Equal(t, []string{"high", "normal"}, []string{r.ByPriority[0].Value, r.ByPriority[1].Value})
	require.Equal(t, []simulate.Row{{Value: "1 to 9", Requests: 4, Cold: 1, Wait: wait}}, r.BySubmitter)
	require.Equal(t, 2, r.Fairness.Submitters)
	require.EqualValues(t, 2000, r.Fairness.Worst)

	sum := 0
	for _, p := range r.Points {
		sum += p.Cold
	}
	require.Equal(t, 1, sum)
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := `{"at_ms":0,"pool":"p","submitter":"a","run_ms":1}` + "\n"
	for line, says := range map[string]string{
		`x`: "line 2 of the trace: invalid character",
		`{"at_ms":0,"pool":"p","submitter":"a","run_ms":1,"color":1}`:          `line 2 of the trace: unknown field "color"`,
		`{"at_ms":-1,"pool":"p","submitter":"a","run_ms":1}`:                   "at_ms -1 must be between",
		`{"at_ms":0,"pool":"","submitter":"a","run_ms":1}`:                     "pool",
		`{"at_ms":0,"pool":"p","submitter":"","run_ms":1}`:                     "submitter must have",
		`{"at_ms":0,"pool":"p","submitter":"a","run_ms":999999999}`:            "run_ms 999999999 must be",
		`{"at_ms":0,"pool":"p","submitter":"a","run_ms":1,"due_ms":-1}`:        "due_ms -1 must be",
		`{"at_ms":0,"pool":"p","submitter":"a","run_ms":1,"priority":"above"}`: `priority "above" must be one of`,
		good[:len(good)-1] + " {}":                                             "more than one",
		strings.Repeat("x", 70_000):                                            "line 2 of the trace: it is longer than",
	} {
		_, err := simulate.Read(strings.NewReader(good + line))
		require.ErrorContains(t, err, says)
		require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
	}
	_, err := simulate.Read(strings.NewReader("\n# nothing\n"))
	require.ErrorContains(t, err, "no requests")
}

// What is printed is read back as it was.
func TestExamplesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, e := range simulate.Examples() {
		made := e.Trace()
		var text bytes.Buffer
		require.NoError(t, made.Write(&text))
		again, err := simulate.Read(&text)
		require.NoError(t, err, e.Name)
		require.Equal(t, made, again, e.Name)
		require.Equal(t, made, e.Trace(), "it is always the same")
	}
}

// Settings with which a trace would not end are refused.
func TestSettingsThatCannotEnd(t *testing.T) {
	t.Parallel()
	trace := simulate.Trace{{Pool: "p", Priority: core.PriorityNormal, Submitter: "a", Run: 1}}
	for says, change := range map[string]func(*simulate.Settings){
		"0 hosts":                      func(s *simulate.Settings) { s.Hosts = nil },
		"5001 hosts":                   func(s *simulate.Settings) { s.Hosts = simulate.Hosts(5001, core.Size{}, 1) },
		"needs slots":                  func(s *simulate.Settings) { s.Hosts[0].Slots = 0 },
		"which the cluster does not":   func(s *simulate.Settings) { s.Pools = nil },
		"is paused":                    func(s *simulate.Settings) { s.Pools[0].Paused = true },
		"no host serves pool p":        func(s *simulate.Settings) { s.Hosts[0].Serves = []string{"q"} },
		"large enough for one of its":  func(s *simulate.Settings) { s.Hosts[0].Size.Memory = 1 },
		"must be between 1ms and 1h":   func(s *simulate.Settings) { s.VMTime = 0 },
		"warm 9 must be between 0 and": func(s *simulate.Settings) { s.Pools[0].Warm = 9 },
	} {
		s := settings(1, "p")
		change(&s)
		_, err := simulate.Run(trace, s)
		require.ErrorContains(t, err, says)
		require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
	}
	_, err := simulate.Run(nil, settings(1, "p"))
	require.ErrorContains(t, err, "0 requests")
}

// For the deadline rush learning counts are better than two on each host, and cost less.
func TestLearningIsBetterInTheRush(t *testing.T) {
	t.Parallel()
	trace := example(t, "deadline-rush")
	s := simulate.Settings{Hosts: simulate.Hosts(4, core.Size{CPU: 32_000, Memory: 16 << 30, Disk: 1 << 40}, 8), VMTime: 2 * time.Second, Pools: []core.Pool{core.DefaultPool("default")}}
	fixed, err := simulate.Run(trace, s.Fixed(2))
	require.NoError(t, err)
	learning, err := simulate.Run(trace, s.Learning(32))
	require.NoError(t, err)
	require.GreaterOrEqual(t, learning.HitRate, fixed.HitRate)
	require.Less(t, learning.Warm, fixed.Warm/2)
	rate, err := simulate.HitRate(trace, s, 2)
	require.NoError(t, err)
	require.InDelta(t, fixed.HitRate, rate, 0)
}

// One who sends thousands does not hold up the others of his priority.
func TestABurstHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	r, err := simulate.Run(example(t, "burst"), settings(4, "default"))
	require.NoError(t, err)
	students, script := r.BySubmitter[0], r.BySubmitter[len(r.BySubmitter)-1]
	require.Equal(t, "1000 to 9999", script.Value)
	require.Less(t, students.Wait.P95, script.Wait.P50/10)
}

func example(t *testing.T, name string) simulate.Trace {
	t.Helper()
	for _, e := range simulate.Examples() {
		if e.Name == name {
			return e.Trace()
		}
	}
	require.Fail(t, name)
	return nil
}

// Submitters of the history are numbers, and what never ran is left out.
func TestOfHistory(t *testing.T) {
	t.Parallel()
	ended := []core.Ended{
		{Key: "b-1", Pool: "p", Priority: core.PriorityLow, Submitter: "ann@example.org", Times: core.Times{Submitted: 7000, Claimed: 10, Finished: 510}},
		{Key: "a-1", Pool: "p", Priority: core.PriorityLow, Submitter: "bob", Times: core.Times{Submitted: 5000, Claimed: 10, Finished: 20}},
		{Key: "c-1", Pool: "p", Submitter: "bob", Times: core.Times{Submitted: 4000, Claimed: -1, Finished: 3}},
	}
	trace, err := simulate.OfHistory(ended)
	require.NoError(t, err)
	require.Equal(t, simulate.Trace{
		{At: 0, Pool: "p", Priority: core.PriorityLow, Submitter: "s1", Run: 10},
		{At: 2000, Pool: "p", Priority: core.PriorityLow, Submitter: "s2", Run: 500},
	}, trace)
	_, err = simulate.OfHistory(ended[2:])
	require.True(t, core.Is(err, core.CodeNotFound), "%v", err)
}

// The charts are a picture that can be read as one, with a line for each series.
func TestSVG(t *testing.T) {
	t.Parallel()
	trace, err := simulate.Read(strings.NewReader(tiny))
	require.NoError(t, err)
	r, err := simulate.Run(trace, settings(1, "p"))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, simulate.SVG(&out, "a <tiny> trace", []simulate.Named{{Name: "fixed", Report: r}, {Name: "learning", Report: r}}))
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	text := out.String()
	require.Contains(t, text, "a &lt;tiny&gt; trace")
	require.Contains(t, text, "prefers-color-scheme: dark")
	for _, title := range []string{"Waiting requests", "Waiting time", "VMs", "Cold starts", "fixed", "learning"} {
		require.Contains(t, text, title)
	}
}

// Whatever the trace and the cluster: it ends, each request is counted once, the hosts never have more than fits, and
// the same again is the same.
func TestWhateverIsReplayed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := settings(rapid.IntRange(1, 3).Draw(t, "hosts"), "p", "q")
		for i := range s.Hosts {
			s.Hosts[i].Slots = rapid.IntRange(1, 4).Draw(t, "slots")
			s.Hosts[i].MaxVMs = rapid.IntRange(0, 3).Draw(t, "max vms")
			s.Hosts[i].Size.Memory = rapid.Int64Range(1, 5).Draw(t, "memory") << 30
		}
		for i := range s.Pools {
			p := &s.Pools[i]
			p.Max = rapid.IntRange(1, 4).Draw(t, "max")
			p.Warm = rapid.IntRange(0, p.Max).Draw(t, "warm")
			p.WarmTotal, p.WarmMost = rapid.IntRange(0, 5).Draw(t, "warm total"), rapid.IntRange(0, 5).Draw(t, "warm most")
			p.Strategy = rapid.SampledFrom(core.Strategies()).Draw(t, "strategy")
			p.Order = rapid.SampledFrom(core.PlacementOrders()).Draw(t, "order")
			p.Spread = rapid.IntRange(0, 3).Draw(t, "spread")
			p.IdleAfter = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "idle after")
		}
		var lines []string
		at, work := int64(0), int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			at += rapid.SampledFrom([]int64{0, 10, 3000, 200_000}).Draw(t, "pause")
			run := rapid.Int64Range(0, 20_000).Draw(t, "run")
			work += run
			lines = append(lines, fmt.Sprintf(`{"at_ms":%d,"pool":%q,"priority":%q,"submitter":%q,"run_ms":%d}`, at,
				rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pool"), rapid.SampledFrom(core.Priorities()).Draw(t, "priority"),
				rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(t, "submitter"), run))
		}
		trace, err := simulate.Read(strings.NewReader(strings.Join(lines, "\n")))
		require.NoError(t, err)
		r, err := simulate.Run(trace, s)
		require.NoError(t, err)
		require.Equal(t, len(trace), r.Requests)
		require.Equal(t, len(trace), r.Hits+r.Cold)
		require.InDelta(t, float64(work)/3_600_000, r.Busy, 1e-9, "each ran once, for as long as it runs")
		require.GreaterOrEqual(t, r.Made, r.Requests, "a VM is used once")
		for _, share := range []float64{r.HitRate, r.VMsUsed, r.SlotsUsed, r.RoomUsed, r.Fairness.Jain} {
			require.GreaterOrEqual(t, share, 0.0)
			require.LessOrEqual(t, share, 1.0000001)
		}
		again, err := simulate.Run(trace, s)
		require.NoError(t, err)
		first, err := json.Marshal(r)
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
