package redisstore_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkInstructions counts the instructions that a redis-server executes for a job's submission, and for its claim
// and end, for an owner with so many slots that ends and claims so many at once. What else the machine does changes
// nothing of it. It needs valgrind and skips where there is none. Profiles by function stay in the folder of the
// environment variable PROFILES, if it is set: callgrind_annotate reads them.
func BenchmarkInstructions(b *testing.B) {
	for _, c := range []struct{ slots, batch int }{{1, 1}, {10, 4}, {100, 30}, {1000, 60}} {
		b.Run(fmt.Sprintf("slots=%d/batch=%d", c.slots, c.batch), func(b *testing.B) {
			count := underValgrind(b)
			owner := newClaimant(b, c.slots, c.batch)
			require.NoError(b, owner.b.Admin.ConfigSet(b.Context(), "slowlog-log-slower-than", "-1").Err())
			turns := max(10, 300/c.batch)
			for b.Loop() {
				count()
				for range turns {
					owner.Submit(b, specs(fmt.Sprintf("counted%d-", owner.made), c.batch, "zoe")...)
					owner.made++
				}
				made := count()
				owner.AddVMs(b, turns*c.batch)
				count()
				for range turns {
					owner.next(b)
				}
				claimed := count()
				b.ReportMetric(made/float64(turns*c.batch), "submit-instructions/job")
				b.ReportMetric(claimed/float64(turns*c.batch), "claim-instructions/job")
			}
		})
	}
}

var totalInstructions = regexp.MustCompile(`(?m)^totals: (\d+)$`)

// underValgrind has the next redis-server counted, and returns a function that tells the instructions since its last call.
func underValgrind(b *testing.B) func() float64 {
	b.Helper()
	for _, program := range []string{"valgrind", "callgrind_control"} {
		if _, err := exec.LookPath(program); err != nil {
			b.Skip(err)
		}
	}
	server, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip(err)
	}
	dir := os.Getenv("PROFILES")
	if dir == "" {
		dir = b.TempDir()
	}
	bin := b.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%[1]s/pid\nexec valgrind -q --tool=callgrind --callgrind-out-file=%[2]s/profile %[3]s \"$@\"\n", bin, dir, server)
	require.NoError(b, os.WriteFile(filepath.Join(bin, "redis-server"), []byte(script), 0o700))
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	dumps := 0
	return func() float64 {
		pid, err := os.ReadFile(filepath.Join(bin, "pid"))
		require.NoError(b, err)
		out, err := exec.CommandContext(b.Context(), "callgrind_control", "--dump", strings.TrimSpace(string(pid))).CombinedOutput()
		require.NoError(b, err, "%s", out)
		dumps++
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("profile.%d", dumps)))
		require.NoError(b, err)
		total := totalInstructions.FindSubmatch(text)
		require.NotNil(b, total)
		n, err := strconv.ParseFloat(string(total[1]), 64)
		require.NoError(b, err)
		return n
	}
}
