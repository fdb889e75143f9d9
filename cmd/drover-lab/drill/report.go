package drill

import (
	"fmt"

	"drover/core"
)

// total names the sum of all kinds in Report.Faults.
const total = "total"

// Report is the result of a drill.
type Report struct {
	Seed       uint64 `json:"seed"`
	DurationMs int64  `json:"duration_ms"`
	Hosts      int    `json:"hosts"`
	Isolated   bool   `json:"isolated"` // hosts had networks and disks of their own
	BeatMs     int64  `json:"beat_ms"`

	Faults  map[string]int    `json:"faults"`  // injected, by kind, and their total
	Skipped map[string]string `json:"skipped"` // kind → why it could not be injected here

	Jobs     int `json:"jobs"`                   // accepted requests
	Tasks    int `json:"tasks"`                  // accepted tasks
	Refused  int `json:"refused"`                // submits that were not accepted
	Attempts int `json:"attempts"`               // recorded tries
	Dead     int `json:"dead"`                   // given up after too many platform faults, with that reason
	RunLost  int `json:"run_lost"`               // failed, since they must not run twice and their run was lost
	Innocent int `json:"dead_without_own_fault"` // of them: those that cannot have been the cause
	Broken   int `json:"broken_promises"`        // broken guarantees to submitters and owners

	Batches   batchCounts    `json:"batches"`
	Pools     []core.Pool    `json:"pools"`
	MostVMs   map[string]int `json:"most_vms"`         // host → most VMs seen alive at a time
	Oversold  int            `json:"oversold"`         // times that a host held more VMs than fit, with its overcommit
	Rounds    int            `json:"rounds_cut"`       // overseers that were stopped in the middle of a round of placement
	Overtaken int            `json:"rounds_overtaken"` // of them: those that went on when another had written a round

	Leases      leaseCounts   `json:"leases"`
	LeaseFaults int           `json:"lease_faults"` // what does not hold of leases
	Elastic     elasticCounts `json:"elastic"`

	Lost        int              `json:"lost"`        // accepted, and without an end
	Doubled     int              `json:"doubled"`     // with two ends, in a VM that served another, or with another's output
	Leaked      int              `json:"leaked"`      // VMs, cgroups, mounts, network links and processes
	Consistency []core.Violation `json:"consistency"` // invariants that are broken at the end
	Zombies     int              `json:"zombie_writes_refused"`

	DetectMs     Spread              `json:"detect_ms"`     // from the fault until the owner is fenced
	RedispatchMs Spread              `json:"redispatch_ms"` // from the fault until the work runs again
	Recovery     map[string]recovery `json:"recovery"`      // the same by kind of fault

	Exits   int      `json:"exits"`   // ends of components that nobody had killed
	Crashes int      `json:"crashes"` // those of them that were a bug
	Details []string `json:"details"` // what was lost, doubled or leaked, and where
	Unknown []string `json:"unknown"` // VMs of which hosts and Redis disagree at the end

	given []string // requests that were given up
}

// Spread is the distribution of times, in milliseconds.
type Spread struct {
	N   int   `json:"n"`
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// String is the distribution for people.
func (s Spread) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("p50 %d ms, p99 %d ms, at most %d ms (%d times)", s.P50, s.P99, s.Max, s.N)
}

// batchCounts are the batches of a drill.
type batchCounts struct {
	Accepted  int `json:"accepted"`
	Jobs      int `json:"jobs"`
	Cancelled int `json:"cancelled"`
	Rerun     int `json:"rerun"` // accepted as well
}

type recovery struct {
	Detect     Spread `json:"detect_ms"`
	Redispatch Spread `json:"redispatch_ms"`
}

func newReport(cfg Config) *Report {
	return &Report{
		Seed: cfg.Seed, Hosts: cfg.Hosts, Isolated: Isolated(), BeatMs: cfg.beat().Milliseconds(),
		Faults: map[string]int{total: 0}, Skipped: map[string]string{}, Recovery: map[string]recovery{},
		Pools: pools(cfg.Slots), MostVMs: map[string]int{},
	}
}

// Sound reports whether all that must hold did.
func (r *Report) Sound() bool {
	return r.Lost == 0 && r.Doubled == 0 && r.Leaked == 0 && r.Crashes == 0 && r.Innocent == 0 && r.Broken == 0 && r.Oversold == 0 && r.LeaseFaults == 0 && len(r.Consistency) == 0 && len(r.Unknown) == 0
}

func (r *Report) detail(format string, args ...any) {
	r.Details = append(r.Details, fmt.Sprintf(format, args...))
}

func (r *Report) leak(format string, args ...any) {
	r.Leaked++
	r.detail("leaked: "+format, args...)
}
