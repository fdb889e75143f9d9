package core

import (
	"encoding/json"
	"fmt"
	"slices"
)

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

	Verdict string `json:"verdict,omitempty"` // in a word or two, such as "wrong answer"
	Group   string `json:"group,omitempty"`   // the group of tests that it belongs to
	Hidden  bool   `json:"hidden,omitempty"`  // the message reveals nothing about the test
	Usage   *Usage `json:"usage,omitempty"`   // nil if it was not measured

	Decision *Decision `json:"decision,omitempty"` // by the stock harness; nil of others
	Checked  *Checked  `json:"checked,omitempty"`  // by the stock harness; nil if its first verdict was in no doubt
}

// Part is one line of a test: name, score, maximum score. In JSON it is an array of these three, as harnesses write
// it.
type Part struct {
	Name     string
	Score    float64
	MaxScore float64
}

// MarshalJSON writes [name, score, max score].
func (p Part) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{p.Name, p.Score, p.MaxScore})
}

// UnmarshalJSON reads exactly [name, score, max score].
func (p *Part) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) != 3 {
		return fmt.Errorf("a part has %d elements, want [name, score, max score]", len(raw))
	}
	for i, into := range []any{&p.Name, &p.Score, &p.MaxScore} {
		if err := json.Unmarshal(raw[i], into); err != nil {
			return err
		}
	}
	return nil
}

// The limits that can end a run, as Result.Limit and Result.HeldBy name them.
const (
	LimitTime   = "time"
	LimitMemory = "memory"
	LimitPids   = "pids"
	LimitOutput = "output"
)

// Times are milliseconds since the request was submitted; -1 for a step that it did not reach.
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

// Granularity of the usage of hidden tests. A program controls what it uses, and could otherwise reveal its input by
// it.
const (
	stepMs    = 10      // ms
	stepBytes = 1 << 20 // bytes
)

// Coarse returns the usage rounded up, for readers who may not learn what was tested.
func (u Usage) Coarse() Usage {
	return Usage{CPUMs: upTo(u.CPUMs, stepMs), WallMs: upTo(u.WallMs, stepMs), MemoryPeakBytes: upTo(u.MemoryPeakBytes, stepBytes)}
}

// upTo returns n rounded up to a multiple of step. A negative n means "not known" and is returned as it is.
func upTo(n, step int64) int64 {
	if n <= 0 {
		return n
	}
	return (n + step - 1) / step * step
}

// Coarse returns the result for readers who may not learn what its hidden tests are: usage, of those tests and of the
// whole run, is rounded up to 10 ms and 1 MiB. A result without hidden tests is returned unchanged.
func (r Result) Coarse() Result {
	if !slices.ContainsFunc(r.Tests, func(t Test) bool { return t.Hidden }) {
		return r
	}
	r.Usage = r.Usage.Coarse()
	for _, at := range []*int64{&r.Times.Started, &r.Times.Finished} {
		*at = upTo(*at, stepMs)
	}
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		if t := &r.Tests[i]; t.Hidden && t.Usage != nil {
			used := t.Usage.Coarse()
			t.Usage = &used
		}
	}
	return r
}

// Result is the one terminal result of a request, and the record of each of its attempts.
type Result struct {
	ID         string            `json:"id"`
	Generation int               `json:"generation"`
	State      RequestState      `json:"state"`
	Blame      Blame             `json:"blame"`
	Reason     string            `json:"reason"`          // one sentence for people; empty for a good end
	Limit      string            `json:"limit,omitempty"` // the limit that ended the run; empty if none did
	ExitCode   int               `json:"exit_code"`
	Signal     string            `json:"signal"` // such as "SIGKILL"; empty if it exited
	Stdout     string            `json:"stdout"`
	Stderr     string            `json:"stderr"`
	Truncated  bool              `json:"truncated"` // stdout or stderr exceeded the output limit
	Score      *float64          `json:"score"`
	MaxScore   *float64          `json:"max_score"`
	Tests      []Test            `json:"tests"`
	Attempt    int               `json:"attempt"`          // 1 for the first
	Change     int               `json:"change,omitempty"` // Spec.Change of what a claim ran with
	Host       string            `json:"host"`
	Pool       string            `json:"pool"`
	VM         string            `json:"vm"`
	Token      string            `json:"token,omitempty"` // of the claim that produced it
	Image      string            `json:"image,omitempty"` // digest of the VM's image, or the provider's name for the host's own system
	Times      Times             `json:"times"`
	Usage      Usage             `json:"usage"`
	HeldBy     map[string]string `json:"held_by,omitempty"`    // limit → what enforced it: cgroup, rlimit, tmpfs, watchdog, agent
	Files      []File            `json:"files,omitempty"`      // what Spec.Collect named, in the blob store
	LeftOut    []LeftOut         `json:"left_out,omitempty"`   // files that matched and were not collected
	Receipt    *Receipt          `json:"receipt,omitempty"`    // nil if no testrunner ended it
	Expired    int64             `json:"expired_ms,omitempty"` // when its pool's KeepOutputs deleted stdout, stderr and files, ms since 1970; 0 if it did not
}

// LeftOut is a file that was not collected.
type LeftOut struct {
	Path string `json:"path"` // made printable
	Why  string `json:"why"`
}

// Key is the result's request key.
func (r *Result) Key() string { return Key(r.ID, r.Generation) }
