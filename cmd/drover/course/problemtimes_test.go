package course

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"drover/core/harness/problem"
)

// The slowest test is that of an accepted submission that must be accepted.
func TestTimesOfAPackage(t *testing.T) {
	t.Parallel()
	v := verification{took: 12300 * time.Millisecond, rows: []verified{
		{Path: "input_validators/all.py", Got: problem.Accepted, CPUMs: 900, Slowest: "secret/1", WallMs: 1000, BuildMs: 100},
		{Path: "accepted/fast.py", Got: problem.Accepted, CPUMs: 20, Slowest: "secret/1", WallMs: 500, BuildMs: 50, timed: true},
		{Path: "accepted/slow.py", Got: problem.Accepted, CPUMs: 312, Slowest: "secret/2", WallMs: 700, timed: true},
		{Path: "accepted/wrong.py", Got: problem.WrongAnswer, CPUMs: 700, Slowest: "secret/2", WallMs: 800, timed: true},
		{Path: "time_limit_exceeded/x.py", Got: problem.TimeLimit, CPUMs: 1000, Slowest: "secret/2", WallMs: 1100},
	}}
	times := v.times()
	assert.Equal(t, "took 12.3s; gradings 4100 ms together, of which building 150 ms; slowest accepted 312 ms, 31 % of the limit: secret/2 of accepted/slow.py",
		times.sentence(1000))
	v.rows = v.rows[3:]
	times = v.times()
	assert.Equal(t, "took 12.3s; gradings 1900 ms together, of which building 0 ms", times.sentence(1000))
}
