package testrunner

import (
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness/cases"
)

// marksEvery is how often marks leave: at these times after the start of the job, and not when a test ends. Otherwise
// the time of a mark would tell more of a hidden test than its result does, see core.Usage.Coarse.
const marksEvery = time.Second

// tell shows the progress in the live output.
func (j *job) tell(name string, o *cases.Outcome) {
	j.live.add(agent.Stdout, []byte(name+": "+o.Verdict+"\n"))
}

// mark has the live output tell how a test ended. Tests end in their order.
func (j *job) mark(t *cases.Test, o *cases.Outcome) {
	s := j.suite
	if s.marks == nil {
		s.marks = make([]core.Mark, len(s.plan.Tests()))
		for i := range s.marks {
			s.marks[i].Outcome = core.ResultWaiting
		}
	}
	m := core.Mark{Outcome: core.ResultFailed, Hidden: t.Hidden}
	switch {
	case o.Passed():
		m.Outcome = core.ResultFull
	case o.Verdict == cases.Skipped:
		m.Outcome = core.ResultCancelled
	case o.Verdict == cases.Accepted && o.Share > 0:
		m.Outcome = core.ResultPartial
	}
	s.marks[s.marked] = m
	s.marked++
	j.live.mark(core.WriteMarks(s.marks))
}

// mark takes how the tests of a grading stand; it replaces what was taken before.
func (l *live) mark(marks []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = marks
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// due returns a channel on which the time comes to send marks; nil if there are none.
func (l *live) due() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks == nil || l.broken {
		return nil
	}
	return l.clock.After(l.next.Sub(l.clock.Now()))
}

// takeMarks returns the marks whose time has come, as a chunk. It must be called with mu held.
func (l *live) takeMarks() []core.OutputChunk {
	now := l.clock.Now()
	if l.marks == nil || l.broken || now.Before(l.next) {
		return nil
	}
	marks := l.marks
	l.marks = nil
	l.next = l.begun.Add(now.Sub(l.begun).Truncate(marksEvery) + marksEvery)
	return []core.OutputChunk{{Stream: core.StreamTests, Data: marks}}
}
