package core

import "strings"

// Replays says of a request which finished one it runs again as it was, and what a harness was told of that one.
type Replays struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"` // whose result was the last when the replay was requested
	Submitter  string `json:"submitter"`
	Assignment string `json:"assignment,omitempty"`
	Graded     bool   `json:"graded,omitempty"` // it tested a submission: the replay belongs to the same class
	Submitted  int64  `json:"submitted"`        // ms since 1970
}

// ReplayLabel is the assignment of the replays of a request. By it they are found, and do not count for the real one.
func ReplayLabel(id string) string { return "replay:" + id }

// Replay returns a request of somebody that runs s again as it was: the same program, files and limits. What belongs to
// the one request alone is left out: who is notified, its batch, when it was due, what it supersedes.
func (s *Spec) Replay(by string) Spec {
	return Spec{
		Pool: s.Pool, Priority: PriorityLow, Submitter: by, Command: s.Command, Env: s.Env, Stdin: s.Stdin, Files: s.Files,
		Harness: s.Harness, Input: s.Input, Collect: s.Collect, OnHostLoss: s.OnHostLoss, Limits: s.Limits,
		Assignment: ReplayLabel(s.ID),
		Replays: &Replays{
			ID: s.ID, Generation: s.Generation, Submitter: s.Submitter, Assignment: s.Assignment, Submitted: s.Submitted,
			Graded: s.Submission != "" || s.Instead != "",
		},
	}
}

// Original returns the spec that a harness is told of: of a replay, id, submitter, assignment and time of the request
// that it runs again.
func (s *Spec) Original() *Spec {
	if s.Replays == nil {
		return s
	}
	was := *s
	was.ID, was.Generation, was.Submitter, was.Assignment, was.Submitted = s.Replays.ID, s.Replays.Generation, s.Replays.Submitter, s.Replays.Assignment, s.Replays.Submitted
	return &was
}

// Grades reports whether the request tests a student's submission, as the tests that count, in an experiment or as a
// replay: then it belongs to the class.
func (s *Spec) Grades() bool {
	return s.Submission != "" || s.Instead != "" || s.Replays != nil && s.Replays.Graded
}

// ClassOf returns the class to which a request that grades belongs.
func (s *Spec) ClassOf() string {
	class, _, _ := strings.Cut(s.Original().Assignment, "/")
	return class
}
