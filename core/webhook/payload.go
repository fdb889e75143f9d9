package webhook

import (
	"encoding/json"
	"strings"
	"time"

	"drover/core"
	"drover/core/harness"
)

// Version is the version of the payloads. Fields may be added to a version, but not changed or removed.
const Version = 1

// Bounds on a payload, which keep it below 100 KiB and most below 10.
const (
	maxTests = 100 // listed one by one
	maxText  = 500 // bytes of a reason or note
	maxWord  = 120 // bytes of a name
)

// event has the fields of every payload.
type event struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"` // of the delivery, as in the header webhook-id
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // when it happened
	Data      any       `json:"data"`
}

// request is the part of a payload about a request: enough to act on, without its output, and without the texts of
// its tests for people.
type request struct {
	ID         string            `json:"id"`
	Generation int               `json:"generation"`
	State      core.RequestState `json:"state"`
	Blame      core.Blame        `json:"blame"`
	Reason     string            `json:"reason"`
	Verdict    harness.Verdict   `json:"verdict"`
	Score      *float64          `json:"score"`
	MaxScore   *float64          `json:"max_score"`
	Tests      []test            `json:"tests"`
	TestsTotal int               `json:"tests_total"`
	Submission string            `json:"submission"`
	Class      string            `json:"class"`
	Assignment string            `json:"assignment"`
	User       string            `json:"user"`
	Submitted  time.Time         `json:"submitted"`
}

type test struct {
	Name     string  `json:"name"`
	Group    string  `json:"group,omitempty"`
	Verdict  string  `json:"verdict,omitempty"`
	Score    float64 `json:"score"`
	MaxScore float64 `json:"max_score"`
	Hidden   bool    `json:"hidden,omitempty"`
}

// task is the part of a payload about a task.
type task struct {
	ID         string         `json:"id"`
	Generation int            `json:"generation"`
	Kind       string         `json:"kind"`
	State      core.TaskState `json:"state"`
	Note       string         `json:"note"`
	About      string         `json:"about"`
	User       string         `json:"user"`
	Download   *download      `json:"download"`
}

// download is a task's file, which those with the right fetch from drover.
type download struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Size    int64     `json:"size"`
	Expires time.Time `json:"expires"`
}

// EndOf returns when a result's request ended, by the clock by which it was submitted.
func EndOf(r *core.Result) time.Time {
	return time.UnixMilli(r.Times.Submitted + max(0, r.Times.Finished))
}

// RequestEnded is the payload of core.EventRequestEnded.
func RequestEnded(delivery string, spec *core.Spec, r *core.Result) ([]byte, error) {
	class, assignment, named := strings.Cut(spec.Assignment, "/")
	if !named {
		class, assignment = "", spec.Assignment
	}
	told := request{
		ID: r.ID, Generation: r.Generation, State: r.State, Blame: r.Blame, Reason: clip(r.Reason, maxText),
		Verdict: harness.VerdictOf(r), Score: r.Score, MaxScore: r.MaxScore, Tests: []test{}, TestsTotal: len(r.Tests),
		Submission: spec.Submission, Class: class, Assignment: assignment, User: spec.Submitter, Submitted: time.UnixMilli(r.Times.Submitted).UTC(),
	}
	for _, t := range r.Tests[:min(len(r.Tests), maxTests)] {
		told.Tests = append(told.Tests, test{
			Name: clip(t.Name, maxWord), Group: clip(t.Group, maxWord), Verdict: clip(t.Verdict, maxWord),
			Score: t.Score, MaxScore: t.MaxScore, Hidden: t.Hidden,
		})
	}
	return payload(delivery, core.EventRequestEnded, EndOf(r), told)
}

// TaskEnded is the payload of core.EventTaskEnded.
func TaskEnded(delivery string, t *core.Task) ([]byte, error) {
	told := task{
		ID: t.ID, Generation: t.Generation, Kind: t.Kind, State: t.State, Note: clip(t.Note, maxText), About: t.About, User: t.Requester,
	}
	if d := t.Download; d != nil {
		told.Download = &download{Name: d.Name, Type: d.Type, Size: d.Size, Expires: time.UnixMilli(d.Expires).UTC()}
	}
	return payload(delivery, core.EventTaskEnded, time.UnixMilli(t.Ended), told)
}

// Comment is the part of a payload about a comment, question or answer: where it is, without its text.
type Comment struct {
	ID         string `json:"id"`
	Submission string `json:"submission"`
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	User       string `json:"user"` // whose submission it is about
	By         string `json:"by"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	Last       int    `json:"last"`
}

// Commented is the payload of one of core.CommentEvents.
func Commented(delivery, event string, at time.Time, c Comment) ([]byte, error) {
	c.File = clip(c.File, maxText)
	return payload(delivery, event, at, c)
}

// Test is the payload of core.EventTest, which a person sends to see it arrive.
func Test(delivery string, w *core.Webhook, at time.Time) ([]byte, error) {
	return payload(delivery, core.EventTest, at, map[string]string{"webhook": w.ID, "class": w.Class})
}

func payload(delivery, kind string, at time.Time, data any) ([]byte, error) {
	body, err := json.Marshal(event{Version: Version, ID: delivery, Type: kind, Timestamp: at.UTC(), Data: data})
	return body, core.Wrap(err, core.CodeInternal, delivery, "the delivery cannot be written as JSON")
}

// clip bounds a text.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
