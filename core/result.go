package core

// Blame says whose fault a bad end is. Platform faults never count against a submitter.
type Blame string

// The blames. A good end has none.
const (
	BlameNone       Blame = ""
	BlameSubmission Blame = "submission" // the program failed
	BlameHarness    Blame = "harness"    // bad output, crash or time-out of the grading program
	BlamePlatform   Blame = "platform"   // VM, host, store
)

// Test is one test of a harness's report.
type Test struct {
	Name     string  `json:"name"`
	Score    float64 `json:"score"`
	MaxScore float64 `json:"max_score"`
	Message  string  `json:"message,omitempty"` // Markdown
	Parts    []Part  `json:"parts,omitempty"`
}

// Part is one line of a test: name, score, most possible.
type Part struct {
	Name     string
	Score    float64
	MaxScore float64
}

// Times are milliseconds since the request was submitted; -1 where it never got so far.
type Times struct {
	Submitted int64 `json:"submitted_ms"` // ms since 1970, the origin of the others
	Queued    int64 `json:"queued"`
	Claimed   int64 `json:"claimed"`
	Started   int64 `json:"started"`
	Finished  int64 `json:"finished"`
}

// Usage is what the run consumed.
type Usage struct {
	CPUMs           int64 `json:"cpu_ms"`
	WallMs          int64 `json:"wall_ms"`
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
}

// Result is the one terminal result of a request, and the row of each of its attempts.
type Result struct {
	ID         string            `json:"id"`
	Generation int               `json:"generation"`
	State      RequestState      `json:"state"`
	Blame      Blame             `json:"blame"`
	Reason     string            `json:"reason"` // one sentence for people; empty for a good end
	ExitCode   int               `json:"exit_code"`
	Signal     string            `json:"signal"` // such as "SIGKILL"; empty if it exited
	Stdout     string            `json:"stdout"`
	Stderr     string            `json:"stderr"`
	Truncated  bool              `json:"truncated"` // stdout or stderr went over the output limit
	Score      *float64          `json:"score"`
	MaxScore   *float64          `json:"max_score"`
	Tests      []Test            `json:"tests"`
	Attempt    int               `json:"attempt"` // 1 for the first
	Host       string            `json:"host"`
	Pool       string            `json:"pool"`
	VM         string            `json:"vm"`
	Token      string            `json:"token,omitempty"` // of the claim that made it
	Image      string            `json:"image,omitempty"` // digest of the VM's image, or the provider's name for the host's own system
	Times      Times             `json:"times"`
	Usage      Usage             `json:"usage"`
	HeldBy     map[string]string `json:"held_by,omitempty"` // limit → what held it: cgroup, rlimit, tmpfs, watchdog, agent
}

// Key is the result's request key.
func (r *Result) Key() string { return Key(r.ID, r.Generation) }
