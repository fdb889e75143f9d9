package simulate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Request is one line of a trace.
type Request struct {
	At        int64         `json:"at_ms"` // when it is submitted, since the trace began
	Pool      string        `json:"pool"`
	Priority  core.Priority `json:"priority"`
	Submitter string        `json:"submitter"`
	Run       int64         `json:"run_ms"`           // how long it keeps its VM
	Due       int64         `json:"due_ms,omitempty"` // when it should have ended, since the trace began; 0: any time
}

// Trace is what is submitted, in order of time.
type Trace []Request

// Bounds of what is simulated.
const (
	MaxRequests  = 1_000_000
	MaxHosts     = 5000
	maxAt        = int64(366 * 24 * time.Hour / time.Millisecond)
	maxSubmitter = 200
	maxLine      = 64 << 10
)

// Read reads a trace, one JSON object a line. Empty lines and those that begin with # are skipped. Returns INVALID with
// the number of the line that is wrong.
func Read(from io.Reader) (Trace, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var all Trace
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if len(all) == MaxRequests {
			return nil, core.Errorf(core.CodeInvalid, "trace", "line %d of the trace: it has more than %d requests: replay a part of it", n, MaxRequests)
		}
		r, err := readLine(text)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "trace", "line %d of the trace: %s", n, err)
		}
		all = append(all, r)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, core.Errorf(core.CodeInvalid, "trace", "line %d of the trace: it is longer than %d bytes", n+1, maxLine)
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, core.Errorf(core.CodeInvalid, "trace", "the trace has no requests: drover-lab simulate burst --print shows what lines look like")
	}
	all.sort()
	return all, nil
}

func readLine(text []byte) (Request, error) {
	r := Request{Priority: core.PriorityNormal}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if d.More() {
		return r, errors.New("more than one JSON object")
	}
	return r, r.check()
}

// check returns an INVALID error that names the first invalid field.
func (r Request) check() error {
	if err := core.CheckName("pool", r.Pool); err != nil {
		return err
	}
	invalid := func(format string, args ...any) error { return core.Errorf(core.CodeInvalid, "trace", format, args...) }
	switch {
	case !slices.Contains(core.Priorities(), r.Priority):
		return invalid("priority %.40q must be one of %q", r.Priority, core.Priorities())
	case r.Submitter == "" || len(r.Submitter) > maxSubmitter:
		return invalid("submitter must have 1 to %d bytes", maxSubmitter)
	case r.At < 0 || r.At > maxAt:
		return invalid("at_ms %d must be between 0 and %d, a year", r.At, maxAt)
	case r.Run < 0 || r.Run > core.MaxTimeout.Milliseconds():
		return invalid("run_ms %d must be between 0 and %d, a day", r.Run, core.MaxTimeout.Milliseconds())
	case r.Due < 0 || r.Due > 2*maxAt:
		return invalid("due_ms %d must be between 0 and %d, or be left out", r.Due, 2*maxAt)
	}
	return nil
}

// sort puts requests in order of time; those of one moment stay in their order.
func (t Trace) sort() {
	slices.SortStableFunc(t, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
}

// Write writes a trace as Read reads it.
func (t Trace) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	e := json.NewEncoder(w)
	for i := range t {
		if err := e.Encode(&t[i]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// OfHistory returns the trace of requests that ended. Submitters become numbers, so that it can be shared.
func OfHistory(ended []core.Ended) (Trace, error) {
	ended = slices.DeleteFunc(slices.Clone(ended), func(e core.Ended) bool { return e.Times.Claimed < 0 || e.Times.Finished < e.Times.Claimed })
	slices.SortFunc(ended, func(a, b core.Ended) int {
		return cmp.Or(cmp.Compare(a.Times.Submitted, b.Times.Submitted), cmp.Compare(a.Key, b.Key))
	})
	switch {
	case len(ended) == 0:
		return nil, core.Errorf(core.CodeNotFound, "trace", "nothing ran in that time: choose a longer one with --since")
	case len(ended) > MaxRequests:
		return nil, core.Errorf(core.CodeLimit, "trace", "%d requests ran in that time, more than %d: choose a shorter one with --since", len(ended), MaxRequests)
	}
	number := make(map[string]string)
	all := make(Trace, len(ended))
	for i, e := range ended {
		if number[e.Submitter] == "" {
			number[e.Submitter] = submitter("s", len(number)+1)
		}
		all[i] = Request{
			At: e.Times.Submitted - ended[0].Times.Submitted, Pool: e.Pool, Priority: e.Priority, Submitter: number[e.Submitter],
			Run: e.Times.Finished - e.Times.Claimed,
		}
	}
	return all, nil
}
