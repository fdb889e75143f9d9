package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"drover/core"
)

// Example is a trace that is made by name, always the same.
type Example struct {
	Name, About string

	make func(random *rand.Rand) Trace
}

// Examples returns all of them.
func Examples() []Example {
	return []Example{
		{"quiet-week", "120 students over seven days, seldom two at once", quietWeek},
		{"deadline-rush", "1,000 students in the day before a deadline, most of them at its end", deadlineRush},
		{"contest", "200 teams for five hours in two pools: bursts and many resubmissions", contest},
		{"burst", "one submitter sends 5,000 beside a normal class", burst},
	}
}

// Trace makes the example's trace.
func (e Example) Trace() Trace {
	t := e.make(rand.New(rand.NewPCG(20, 26))) //nolint:gosec // a trace is to be the same each time
	t.sort()
	return t
}

func submitter(kind string, n int) string { return fmt.Sprintf("%s%d", kind, n) }

const (
	second = int64(1000)
	minute = 60 * second
	hour   = 60 * minute
)

// runs is how long a program runs: most a little, some ten times that.
func runs(random *rand.Rand, median time.Duration) int64 {
	const widest = 20
	factor := min(widest, math.Exp(0.7*random.NormFloat64()))
	return int64(float64(median.Milliseconds()) * factor)
}

func normal(at int64, pool, by string, run int64) Request {
	return Request{At: at, Pool: pool, Priority: core.PriorityNormal, Submitter: by, Run: run}
}

// pause is a random time with an average.
func pause(random *rand.Rand, average int64) int64 {
	return int64(float64(average) * random.ExpFloat64())
}

func quietWeek(random *rand.Rand) (t Trace) {
	const days, students, each = 7, 120, 3
	for day := range int64(days) {
		for s := range students {
			for range random.IntN(2 * each) {
				// About three in the afternoon, give or take some hours.
				at := max(0, min(24*hour-1, 15*hour+int64(3*float64(hour)*random.NormFloat64())))
				t = append(t, normal(24*hour*day+at, "default", submitter("student-", s+1), runs(random, 3*time.Second)))
			}
		}
	}
	return t
}

// deadlineRush has as many arrivals in each halving of the time that is left, down to some minutes.
func deadlineRush(random *rand.Rand) (t Trace) {
	const students, most, due, last = 1000, 20, 24 * hour, 8 * minute
	for s := range students {
		for range 1 + random.IntN(most) {
			left := int64(float64(last) * math.Expm1(random.Float64()*math.Log1p(float64(due)/float64(last))))
			r := normal(max(0, due-left), "default", submitter("student-", s+1), runs(random, 3*time.Second))
			r.Due = due
			t = append(t, r)
		}
	}
	return t
}

func contest(random *rand.Rand) (t Trace) {
	const teams, problems, length = 200, 8, 5 * hour
	pools := []string{"cpp", "java"}
	for team := range teams {
		at := 10*minute + pause(random, 5*minute)
		for range problems {
			// The first try, and others soon after it until one is right.
			for again := true; again && at < length; again = random.IntN(3) > 0 {
				t = append(t, normal(at, pools[team%len(pools)], submitter("team-", team+1), runs(random, 2*time.Second)))
				at += 20*second + pause(random, 2*minute)
			}
			at += pause(random, 25*minute)
		}
		// In the last minutes everybody tries what is left.
		for range 4 {
			t = append(t, normal(length-pause(random, 2*minute)%length, pools[team%len(pools)], submitter("team-", team+1), runs(random, 2*time.Second)))
		}
	}
	return t
}

func burst(random *rand.Rand) (t Trace) {
	const students, each, many, length = 60, 10, 5000, 2 * hour
	for s := range students {
		for range each {
			t = append(t, normal(random.Int64N(length), "default", submitter("student-", s+1), runs(random, 3*time.Second)))
		}
	}
	for i := range int64(many) {
		t = append(t, normal(30*minute+i*2, "default", "script", runs(random, 3*time.Second)))
	}
	return t
}
