package cases_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/harness/cases"
)

// A program has its language's share of the limits.
func TestFactors(t *testing.T) {
	t.Parallel()
	limits := func(factors string, paths ...string) cases.Limits {
		p, err := cases.Parse([]byte("run: ./prog\nlimits: {time: 1s, wall: 10s, memory: 64M}\nfactors: "+factors+"\ntests: [{input: 1}]\n"), files)
		require.NoError(t, err)
		before := p.Tests()[0].Limits
		after := p.For(paths).Tests()[0].Limits
		require.Equal(t, before, p.Tests()[0].Limits, "the plan itself stays")
		return after
	}
	const mebi = 1 << 20
	for _, c := range []struct {
		factors, path string
		time, wall    time.Duration
		memory        int64
	}{
		{"table", "main.c", time.Second, 10 * time.Second, 64 * mebi},
		{"table", "a/Main.java", 2 * time.Second, 20 * time.Second, 128 * mebi},
		{"table", "README", time.Second, 10 * time.Second, 64 * mebi},
		{"{python3: 2.5}", "x.py", 2500 * time.Millisecond, 25 * time.Second, 64 * mebi},
		{"{python3: 2.5}", "x.java", time.Second, 10 * time.Second, 64 * mebi},
		{"{java: {memory: 4}}", "x.java", time.Second, 10 * time.Second, 256 * mebi},
	} {
		got := limits(c.factors, "notes.txt", c.path)
		require.Equal(t, []any{c.time, c.wall, c.memory}, []any{got.Time, got.Wall, got.Memory}, "%s %s", c.factors, c.path)
	}
	for _, bad := range []string{"tables", "{klingon: 2}", "{c: 0}", "{c: 1000}", "{c: {disk: 2}}", "[c]"} {
		_, err := cases.Parse([]byte("run: ./prog\nfactors: "+bad+"\ntests: [{input: 1}]\n"), files)
		require.ErrorContains(t, err, "line 2", bad)
	}
}
