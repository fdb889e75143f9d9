package resultstoretest

import (
	"context"
	"reflect"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// School fills a store with what the calls of schoolCalls need: class cs101 with
// assignment hw1, and user ann with submission s.
func School(t *testing.T, s core.ResultStore) {
	t.Helper()
	school(t, s, "ann")
	mustEnrol(t, s, "ann")
	sub := Submission("cs101", "hw1", "ann")
	sub.ID = "s"
	mustHandIn(t, s, sub)
}

// schoolCalls returns the calls of Roster, Coursework and Trail.
func schoolCalls() map[string]func(ctx context.Context, s core.ResultStore) error {
	student := core.Enrolment{Class: "cs101", User: "ann", Role: core.RoleStudent}
	return map[string]func(ctx context.Context, s core.ResultStore) error{
		"PutUser":    func(ctx context.Context, s core.ResultStore) error { _, err := s.PutUser(ctx, User("zoe")); return err },
		"GetUser":    func(ctx context.Context, s core.ResultStore) error { _, err := s.GetUser(ctx, "ann"); return err },
		"ListUsers":  func(ctx context.Context, s core.ResultStore) error { _, err := s.ListUsers(ctx, "", 1); return err },
		"DeleteUser": func(ctx context.Context, s core.ResultStore) error { return s.DeleteUser(ctx, "zoe") },
		"PutClass": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.PutClass(ctx, SchoolClass("cs102"))
			return err
		},
		"GetClass":    func(ctx context.Context, s core.ResultStore) error { _, err := s.GetClass(ctx, "cs101"); return err },
		"ListClasses": func(ctx context.Context, s core.ResultStore) error { _, err := s.ListClasses(ctx, "", 1); return err },
		"DeleteClass": func(ctx context.Context, s core.ResultStore) error { return s.DeleteClass(ctx, "cs102") },
		"Enrol":       func(ctx context.Context, s core.ResultStore) error { return s.Enrol(ctx, student) },
		"Drop":        func(ctx context.Context, s core.ResultStore) error { _, err := s.Drop(ctx, "cs101", "ann"); return err },
		"Members": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Members(ctx, "cs101", "", 1)
			return err
		},
		"Memberships": func(ctx context.Context, s core.ResultStore) error { _, err := s.Memberships(ctx, "ann"); return err },
		"PutAssignment": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.PutAssignment(ctx, Assignment("cs101", "hw2"))
			return err
		},
		"GetAssignment": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.GetAssignment(ctx, "cs101", "hw1")
			return err
		},
		"ListAssignments": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListAssignments(ctx, "cs101", "", 1)
			return err
		},
		"DeleteAssignment": func(ctx context.Context, s core.ResultStore) error { return s.DeleteAssignment(ctx, "cs101", "hw2") },
		"PutDeadline": func(ctx context.Context, s core.ResultStore) error {
			return s.PutDeadline(ctx, core.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"})
		},
		"Deadlines": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Deadlines(ctx, "cs101", "", "")
			return err
		},
		"CreateSubmission": func(ctx context.Context, s core.ResultStore) error {
			_, _, err := s.CreateSubmission(ctx, Submission("cs101", "hw1", "ann"))
			return err
		},
		"GetSubmission": func(ctx context.Context, s core.ResultStore) error { _, err := s.GetSubmission(ctx, "s"); return err },
		"ListSubmissions": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListSubmissions(ctx, core.SubmissionFilter{})
			return err
		},
		"Standings": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.Standings(ctx, "cs101", "hw1", "", 1)
			return err
		},
		"Bind": func(ctx context.Context, s core.ResultStore) error { _, err := s.Bind(ctx, "s", "r", "r"); return err },
		"SetGrade": func(ctx context.Context, s core.ResultStore) error {
			return s.SetGrade(ctx, "s", &core.Grade{By: "tess"})
		},
		"DeleteSubmissions": func(ctx context.Context, s core.ResultStore) error {
			_, _, err := s.DeleteSubmissions(ctx, "cs101", "hw2", 1)
			return err
		},
		"PutExperiment": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.PutExperiment(ctx, Experiment("cs101", "hw1"))
			return err
		},
		"GetExperiment": func(ctx context.Context, s core.ResultStore) error { _, err := s.GetExperiment(ctx, "e"); return err },
		"ListExperiments": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListExperiments(ctx, "cs101", "hw1", 1)
			return err
		},
		"AddDeed": func(ctx context.Context, s core.ResultStore) error {
			return s.AddDeed(ctx, Deed("tess", "cs101", "cs101/hw1"))
		},
		"ListDeeds": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListDeeds(ctx, core.TrailFilter{})
			return err
		},
	}
}

// calls shows that Calls leaves nothing of the interface out.
func calls(t *testing.T, _ core.ResultStore) {
	known := Calls(Spec("ann"))
	of := reflect.TypeFor[core.ResultStore]()
	for i := range of.NumMethod() {
		if name := of.Method(i).Name; name != "Close" {
			require.Contains(t, known, name)
		}
	}
}
