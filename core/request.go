package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Priority decides when a request's turn comes. High, normal and low share a pool by weight, so low priority is slow but
// never starves.
type Priority string

// The priorities, from the highest to the lowest.
const (
	PriorityHigh   Priority = "high"
	PriorityNormal Priority = "normal"
	PriorityLow    Priority = "low"
)

// Priorities lists the priorities from the highest to the lowest.
func Priorities() []Priority {
	return []Priority{PriorityHigh, PriorityNormal, PriorityLow}
}

// Valid reports whether c is one of Priorities.
func (c Priority) Valid() bool { return slices.Contains(Priorities(), c) }

// Bounds on the parts of a request. They keep a spec small enough for Redis.
const (
	MaxSpecBytes = 64 << 10 // encoded spec
	MaxFiles     = 1000     // files of a submission, harness excluded
	MaxArgs      = 256      // words of a command
	MaxCollect   = 32       // paths to collect
	MaxNotify    = 8        // webhooks notified of one end
)

// File is one file of a request, stored in the blob store by its content hash.
type File struct {
	Path   string `json:"path"`           // relative, slash separated, no "..": its path in the VM
	Digest string `json:"digest"`         // "sha256:" and 64 hex digits
	Size   int64  `json:"size"`           // bytes
	Mode   uint32 `json:"mode,omitempty"` // permission bits; 0 means 0644
}

// Limits bound one run. Zero means the pool's limit.
type Limits struct {
	Timeout   time.Duration `json:"timeout_ns,omitempty"` // wall time of the command
	Memory    int64         `json:"memory,omitempty"`     // bytes of the whole process tree, including the page cache of its tmpfs if the kernel counts it
	Disk      int64         `json:"disk,omitempty"`       // bytes of each writable place in the VM
	FileSize  int64         `json:"file_size,omitempty"`  // bytes of any one file
	Pids      int           `json:"pids,omitempty"`       // processes and threads
	CPU       int           `json:"cpu,omitempty"`        // thousandths of a processor that the whole VM may use; set by a pool, not a request
	OpenFiles int           `json:"open_files,omitempty"` // descriptors of one process
	Output    int64         `json:"output,omitempty"`     // bytes kept of each of stdout and stderr; the rest is counted and discarded
}

// Cores returns the number of processors that a VM may use, or otherwise if there is no limit.
func (l Limits) Cores(otherwise float64) float64 {
	if l.CPU > 0 {
		return float64(l.CPU) / 1000
	}
	return otherwise
}

// Or returns l with its zero fields filled from d.
func (l Limits) Or(d Limits) Limits {
	pick := func(a, b int64) int64 {
		if a != 0 { // what is negative stays, so that it is refused
			return a
		}
		return b
	}
	return Limits{
		Timeout:   time.Duration(pick(int64(l.Timeout), int64(d.Timeout))),
		Memory:    pick(l.Memory, d.Memory),
		Disk:      pick(l.Disk, d.Disk),
		FileSize:  pick(l.FileSize, d.FileSize),
		Pids:      int(pick(int64(l.Pids), int64(d.Pids))),
		CPU:       int(pick(int64(l.CPU), int64(d.CPU))),
		OpenFiles: int(pick(int64(l.OpenFiles), int64(d.OpenFiles))),
		Output:    pick(l.Output, d.Output),
	}
}

// Beside returns l without the limits that are those of d.
func (l Limits) Beside(d Limits) Limits {
	other := func(a, b int64) int64 {
		if a == b {
			return 0
		}
		return a
	}
	return Limits{
		Timeout:   time.Duration(other(int64(l.Timeout), int64(d.Timeout))),
		Memory:    other(l.Memory, d.Memory),
		Disk:      other(l.Disk, d.Disk),
		FileSize:  other(l.FileSize, d.FileSize),
		Pids:      int(other(int64(l.Pids), int64(d.Pids))),
		CPU:       int(other(int64(l.CPU), int64(d.CPU))),
		OpenFiles: int(other(int64(l.OpenFiles), int64(d.OpenFiles))),
		Output:    other(l.Output, d.Output),
	}
}

// Negative returns the limits below zero, as requests spell them.
func (l Limits) Negative() []string {
	var all []string
	for _, one := range []struct {
		field string
		value int64
	}{
		{"timeout_ns", int64(l.Timeout)},
		{"memory", l.Memory},
		{"disk", l.Disk},
		{"file_size", l.FileSize},
		{"pids", int64(l.Pids)},
		{"cpu", int64(l.CPU)},
		{"open_files", int64(l.OpenFiles)},
		{"output", l.Output},
	} {
		if one.value < 0 {
			all = append(all, one.field)
		}
	}
	return all
}

// Excess is a limit above its bound.
type Excess struct {
	Field     string // as requests spell it
	Name      string
	Got, Most string
}

// Exceeding returns the limits of l that are above those of most, in order. A limit that is zero in either is left out.
func (l Limits) Exceeding(most Limits) []Excess {
	var all []Excess
	for _, b := range []struct {
		field, name string
		got, most   int64
	}{
		{"timeout_ns", "timeout", int64(l.Timeout), int64(most.Timeout)},
		{"memory", "memory", l.Memory, most.Memory},
		{"disk", "disk", l.Disk, most.Disk},
		{"file_size", "file size", l.FileSize, most.FileSize},
		{"pids", "pids", int64(l.Pids), int64(most.Pids)},
		{"cpu", "cpu", int64(l.CPU), int64(most.CPU)},
		{"open_files", "open files", int64(l.OpenFiles), int64(most.OpenFiles)},
		{"output", "output", l.Output, most.Output},
	} {
		if b.got <= 0 || b.most <= 0 || b.got <= b.most {
			continue
		}
		e := Excess{b.field, b.name, strconv.FormatInt(b.got, 10), strconv.FormatInt(b.most, 10)}
		if b.name == "timeout" {
			e.Got, e.Most = l.Timeout.String(), most.Timeout.String()
		}
		all = append(all, e)
	}
	return all
}

// Spec is what a request asks for. Pool, priority and limits can change until a claim takes it (see Change), the rest
// never; a rerun gets a new generation with the same spec. Redis holds it as JSON under the request's key.
//
// A request is either a plain command (Command set) or a grading (Harness set).
type Spec struct {
	ID          string          `json:"id"`
	Generation  int             `json:"gen"`
	Pool        string          `json:"pool"`
	Priority    Priority        `json:"priority"`
	Submitter   string          `json:"submitter"`
	Due         int64           `json:"due,omitempty"`    // ms since 1970, when what it was submitted for is due; 0: at no time
	Change      int             `json:"change,omitempty"` // of Changes that its pool, priority and limits are from; 0 is its submission
	Command     []string        `json:"command,omitempty"`
	Env         []string        `json:"env,omitempty"`        // NAME=value, added to the VM's own
	Stdin       *File           `json:"stdin,omitempty"`      // of a plain command
	Files       []File          `json:"files,omitempty"`      // the submission, or a command's files
	Harness     *File           `json:"harness,omitempty"`    // a tar of the harness folder
	Attachment  *File           `json:"attachment,omitempty"` // kept for the maker of the request; no VM gets it
	Input       json.RawMessage `json:"input,omitempty"`      // passed to the harness under raw_* and actions
	Collect     []string        `json:"collect,omitempty"`    // files and folders, relative to the work folder, that the result keeps; of a plain command
	Assignment  string          `json:"assignment,omitempty"` // that it was submitted for
	Submission  string          `json:"submission,omitempty"` // id of the submission that it grades
	Instead     string          `json:"instead,omitempty"`    // of an experiment: id of the request that it replaces if the experiment is applied
	Replays     *Replays        `json:"replays,omitempty"`    // request that this one runs again as it was; nil for others
	Type        string          `json:"type,omitempty"`       // of job, from which it was filled
	Batch       string          `json:"batch,omitempty"`      // that it was submitted in
	Notify      []string        `json:"notify,omitempty"`     // webhooks notified of its end
	Callback    string          `json:"callback,omitempty"`   // compatible API that notifies the request's maker of its end; "" is none
	Supersede   bool            `json:"supersede,omitempty"`  // withdraw the submitter's older waiting request for the same assignment
	Idempotency string          `json:"idempotency,omitempty"`
	OnHostLoss  string          `json:"on_host_loss,omitempty"` // OnHostLossRequeue or OnHostLossFail; "" is the pool's
	Limits      Limits          `json:"limits"`
	Submitted   int64           `json:"submitted"` // ms since 1970, the submitting program's clock
}

// Graded returns the class of the submission that the request grades; "" if it grades none.
func (s *Spec) Graded() string {
	if s.Submission == "" && s.Instead == "" {
		return ""
	}
	class, _, _ := strings.Cut(s.Assignment, "/")
	return class
}

// RunsOnce reports whether the request must not run again once it was begun: it says so itself, else its pool does.
func (s *Spec) RunsOnce(p Pool) bool { return cmp.Or(s.OnHostLoss, p.OnHostLoss) == OnHostLossFail }

// BegunReason says why a request ends that was begun, must not run again, and lost its claim in that way.
func BegunReason(how string) string {
	return "It had begun to run when " + how + ", and it must not run twice (on host loss: fail)."
}

// Key returns the spec's key in Redis.
func (s *Spec) Key() string { return Key(s.ID, s.Generation) }

// SameAs reports whether two specs of one id ask for the same. Generation, time of submission and when it is due do not
// count, nor what was changed since.
func (s Spec) SameAs(there Spec) bool {
	there.Generation, there.Submitted, there.Due = s.Generation, s.Submitted, s.Due
	if there.Change > 0 {
		there = there.With(s.Change, Change{Pool: s.Pool, Priority: s.Priority, Limits: s.Limits})
	}
	a, err := json.Marshal(s)
	b, unreadable := json.Marshal(there)
	return err == nil && unreadable == nil && bytes.Equal(a, b)
}

// Notifies reports whether anybody is to be notified of the request's end.
func (s *Spec) Notifies() bool { return len(s.Notify) > 0 || s.Callback != "" }
