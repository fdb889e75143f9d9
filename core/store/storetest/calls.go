package storetest

import (
	"context"
	"maps"
	"reflect"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// School fills a store with what the calls of Roster and Coursework need: class cs101 with
// assignment hw1, and user ann with submission s.
func School(t *testing.T, s school.ResultStore) {
	t.Helper()
	aClass(t, s, "ann")
	mustEnrol(t, s, "ann")
	sub := Submission("cs101", "hw1", "ann")
	sub.ID = "s"
	mustCreateSubmission(t, s, sub)
}

// Call is one call of the interface.
type Call = func(ctx context.Context, s school.ResultStore) error

// Calls returns every call of the interface by name, each with good arguments.
func Calls(spec core.Spec) map[string]Call {
	all := requestCalls(spec)
	for _, more := range []map[string]Call{
		ownCalls(), batchCalls(spec), joinCalls(), changeCalls(spec), taskCalls(), leaseCalls(), instanceCalls(), rosterCalls(), importCalls(), ltiCalls(), courseworkCalls(), accountCalls(), statisticCalls(),
	} {
		maps.Copy(all, more)
	}
	return all
}

// requestCalls are those about requests, pools and images.
func requestCalls(spec core.Spec) map[string]Call {
	return map[string]Call{
		"Create": func(ctx context.Context, s school.ResultStore) error {
			_, _, err := s.Create(ctx, Spec("ann"))
			return err
		},
		"Get": func(ctx context.Context, s school.ResultStore) error { _, err := s.Get(ctx, spec.ID); return err },
		"List": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.List(ctx, core.Filter{})
			return err
		},
		"Unfinished": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Unfinished(ctx, "", 10)
			return err
		},
		"Record": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Record(ctx, Result(spec, "1.1"))
			return err
		},
		"Terminal": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Terminal(ctx, []string{spec.Key()})
			return err
		},
		"BeginRequest": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.BeginRequest(ctx, spec.Key(), "testrunner@h1#0 1.1")
			return err
		},
		"BegunRequests": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.BegunRequests(ctx, []string{spec.Key()})
			return err
		},
		"Rerun":    func(ctx context.Context, s school.ResultStore) error { _, err := s.Rerun(ctx, spec.ID, 5); return err },
		"Attempts": func(ctx context.Context, s school.ResultStore) error { _, err := s.Attempts(ctx, spec.ID); return err },
		"Purge":    func(ctx context.Context, s school.ResultStore) error { _, err := s.Purge(ctx, soon(), 10); return err },
		"Digests": func(ctx context.Context, s school.ResultStore) error {
			return s.Digests(ctx, func(string) error { return nil })
		},
		"PutPool":    func(ctx context.Context, s school.ResultStore) error { return s.PutPool(ctx, core.DefaultPool("p")) },
		"RemovePool": func(ctx context.Context, s school.ResultStore) error { return s.RemovePool(ctx, "unknown") },
		"Pools":      func(ctx context.Context, s school.ResultStore) error { _, err := s.Pools(ctx); return err },
		"PutHostWish": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutHostWish(ctx, core.HostWish{Host: "h", Kind: core.WishDrain, At: 1})
			return err
		},
		"HostWishes": func(ctx context.Context, s school.ResultStore) error { _, err := s.HostWishes(ctx, ""); return err },
		"ForgetHostWishes": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ForgetHostWishes(ctx, "h")
			return err
		},
		"PutImage":    func(ctx context.Context, s school.ResultStore) error { return s.PutImage(ctx, Image("i", 1)) },
		"GetImage":    func(ctx context.Context, s school.ResultStore) error { _, err := s.GetImage(ctx, "i"); return err },
		"ListImages":  func(ctx context.Context, s school.ResultStore) error { _, err := s.ListImages(ctx); return err },
		"DeleteImage": func(ctx context.Context, s school.ResultStore) error { return s.DeleteImage(ctx, "i") },
		"ExpireOutputs": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ExpireOutputs(ctx, "default", soon(), 10)
			return err
		},
	}
}

// ownCalls are those about the store itself.
func ownCalls() map[string]Call {
	return map[string]Call{
		"ID":       func(ctx context.Context, s school.ResultStore) error { _, err := s.ID(ctx); return err },
		"Bindings": func(ctx context.Context, s school.ResultStore) error { _, err := s.Bindings(ctx); return err },
		"PutBinding": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutBinding(ctx, core.BindBlobs, "b", false)
			return err
		},
		"Ping": func(ctx context.Context, s school.ResultStore) error { return s.Ping(ctx) },
	}
}

// taskCalls are those about tasks, webhooks and schedules.
func taskCalls() map[string]Call {
	return map[string]Call{
		"CreateTask": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.CreateTask(ctx, Task("t"))
			return err
		},
		"EndTask": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.EndTask(ctx, core.TaskEnd{ID: "t", Generation: 1, State: core.TaskDone})
			return err
		},
		"GetTask": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetTask(ctx, "t"); return err },
		"FailTask": func(ctx context.Context, s school.ResultStore) error {
			return s.FailTask(ctx, "t", core.TaskFailure{Generation: 1, Attempt: 1})
		},
		"RetryTask": func(ctx context.Context, s school.ResultStore) error { _, err := s.RetryTask(ctx, "t", 5); return err },
		"CountChildren": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.CountChildren(ctx, "t")
			return err
		},
		"PutWebhook": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutWebhook(ctx, Webhook("w"))
			return err
		},
		"GetWebhook": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetWebhook(ctx, "w"); return err },
		"ListWebhooks": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListWebhooks(ctx, "", "", 10)
			return err
		},
		"DeleteWebhook": func(ctx context.Context, s school.ResultStore) error { return s.DeleteWebhook(ctx, "w") },
		"Outbox":        func(ctx context.Context, s school.ResultStore) error { _, err := s.Outbox(ctx, 10); return err },
		"Sent": func(ctx context.Context, s school.ResultStore) error {
			return s.Sent(ctx, []core.Notice{{Event: core.EventTaskEnded, Key: "t-1"}})
		},
		"PutSchedule": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutSchedule(ctx, Schedule("s"))
			return err
		},
		"DeleteSchedule": func(ctx context.Context, s school.ResultStore) error { return s.DeleteSchedule(ctx, "s") },
		"ListSchedules":  func(ctx context.Context, s school.ResultStore) error { _, err := s.ListSchedules(ctx); return err },
		"UnfinishedTasks": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.UnfinishedTasks(ctx, "", 1)
			return err
		},
		"ListTasks": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListTasks(ctx, core.TaskFilter{})
			return err
		},
	}
}

// rosterCalls are those of Roster and AuditLog, in what School fills.
func rosterCalls() map[string]Call {
	student := school.Enrolment{Class: "cs101", User: "ann", Role: core.RoleStudent}
	return map[string]Call{
		"PutUser": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutUser(ctx, User("zoe"))
			return err
		},
		"GetUser":    func(ctx context.Context, s school.ResultStore) error { _, err := s.GetUser(ctx, "ann"); return err },
		"ListUsers":  func(ctx context.Context, s school.ResultStore) error { _, err := s.ListUsers(ctx, "", 1); return err },
		"DeleteUser": func(ctx context.Context, s school.ResultStore) error { return s.DeleteUser(ctx, "zoe") },
		"PutClass": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutClass(ctx, Class("cs102"))
			return err
		},
		"GetClass":    func(ctx context.Context, s school.ResultStore) error { _, err := s.GetClass(ctx, "cs101"); return err },
		"ListClasses": func(ctx context.Context, s school.ResultStore) error { _, err := s.ListClasses(ctx, "", 1); return err },
		"DeleteClass": func(ctx context.Context, s school.ResultStore) error { return s.DeleteClass(ctx, "cs102") },
		"Enrol":       func(ctx context.Context, s school.ResultStore) error { return s.Enrol(ctx, student) },
		"Drop": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Drop(ctx, "cs101", "ann")
			return err
		},
		"Members": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Members(ctx, "cs101", "", 1)
			return err
		},
		"Memberships": func(ctx context.Context, s school.ResultStore) error { _, err := s.Memberships(ctx, "ann"); return err },
		"AddAuditEntry": func(ctx context.Context, s school.ResultStore) error {
			return s.AddAuditEntry(ctx, AuditEntry("tess", "cs101", "cs101/hw1"))
		},
		"ListAuditEntries": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListAuditEntries(ctx, core.AuditFilter{})
			return err
		},
	}
}

// courseworkCalls are those of Coursework, in what School fills.
func courseworkCalls() map[string]Call { //nolint:revive // some lines for each method
	return map[string]Call{
		"PutAssignment": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutAssignment(ctx, Assignment("cs101", "hw2"))
			return err
		},
		"GetAssignment": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetAssignment(ctx, "cs101", "hw1")
			return err
		},
		"ListAssignments": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListAssignments(ctx, "cs101", "", 1)
			return err
		},
		"DeleteAssignment": func(ctx context.Context, s school.ResultStore) error { return s.DeleteAssignment(ctx, "cs101", "hw2") },
		"PutDeadline": func(ctx context.Context, s school.ResultStore) error {
			return s.PutDeadline(ctx, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Due: 5, By: "tess"})
		},
		"Deadlines": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Deadlines(ctx, "cs101", "", "")
			return err
		},
		"AddComment":    func(ctx context.Context, s school.ResultStore) error { return s.AddComment(ctx, Comment("s", "c")) },
		"GetComment":    func(ctx context.Context, s school.ResultStore) error { _, err := s.GetComment(ctx, "c"); return err },
		"EditComment":   func(ctx context.Context, s school.ResultStore) error { return s.EditComment(ctx, "c", "text", 5) },
		"DeleteComment": func(ctx context.Context, s school.ResultStore) error { return s.DeleteComment(ctx, "c") },
		"ListComments": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListComments(ctx, school.CommentFilter{})
			return err
		},
		"ReleaseComments": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ReleaseComments(ctx, "cs101", "hw1", "", 5, false)
			return err
		},
		"SeeComments": func(ctx context.Context, s school.ResultStore) error { return s.SeeComments(ctx, "s") },
		"CountQuestions": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.CountQuestions(ctx, []string{"cs101"})
			return err
		},
		"CreateSubmission": func(ctx context.Context, s school.ResultStore) error {
			sub, spec := Graded("ann")
			_, _, err := s.CreateSubmission(ctx, sub, &spec)
			return err
		},
		"GetSubmission": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetSubmission(ctx, "s"); return err },
		"ListSubmissions": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListSubmissions(ctx, school.SubmissionFilter{})
			return err
		},
		"Leads": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Leads(ctx, "cs101", []string{"ann"})
			return err
		},
		"Standings": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Standings(ctx, "cs101", "hw1", "", 1)
			return err
		},
		"Bind": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Bind(ctx, "s", "r", "r")
			return err
		},
		"SetGrade": func(ctx context.Context, s school.ResultStore) error {
			return s.SetGrade(ctx, "s", &school.Grade{By: "tess"})
		},
		"DeleteSubmissions": func(ctx context.Context, s school.ResultStore) error {
			_, _, err := s.DeleteSubmissions(ctx, "cs101", "hw2", 1)
			return err
		},
		"PutExperiment": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutExperiment(ctx, Experiment("cs101", "hw1"))
			return err
		},
		"GetExperiment": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetExperiment(ctx, "e"); return err },
		"ListExperiments": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListExperiments(ctx, "cs101", "hw1", 1)
			return err
		},
	}
}

// accountCalls are those of Accounts, in what School fills.
func accountCalls() map[string]Call {
	hash := Token("ann", "t").Hash
	return map[string]Call{
		"GetAccount": func(ctx context.Context, s school.ResultStore) error { _, err := s.GetAccount(ctx, "ann"); return err },
		"PutAccount": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutAccount(ctx, school.Account{User: "ann"})
			return err
		},
		"AddToken":    func(ctx context.Context, s school.ResultStore) error { return s.AddToken(ctx, Token("ann", NewID())) },
		"TokenByHash": func(ctx context.Context, s school.ResultStore) error { _, err := s.TokenByHash(ctx, hash); return err },
		"Tokens": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.Tokens(ctx, "ann", school.TokenAPI)
			return err
		},
		"SpendToken": func(ctx context.Context, s school.ResultStore) error { _, err := s.SpendToken(ctx, hash); return err },
		"RemoveToken": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.RemoveToken(ctx, "ann", "t")
			return err
		},
		"TouchToken":  func(ctx context.Context, s school.ResultStore) error { return s.TouchToken(ctx, "t", 5) },
		"PurgeTokens": func(ctx context.Context, s school.ResultStore) error { _, err := s.PurgeTokens(ctx, 5, 10); return err },
		"AddIdentity": func(ctx context.Context, s school.ResultStore) error {
			return s.AddIdentity(ctx, IdentityOf("ann", "1"))
		},
		"GetIdentity": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetIdentity(ctx, "https://id.example", "1")
			return err
		},
		"Identities": func(ctx context.Context, s school.ResultStore) error { _, err := s.Identities(ctx, "ann"); return err },
		"RemoveIdentity": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.RemoveIdentity(ctx, "ann", "https://id.example", "2")
			return err
		},
	}
}

// calls shows that Calls leaves nothing of the interface out.
func calls(t *testing.T, _ school.ResultStore) {
	known := Calls(Spec("ann"))
	of := reflect.TypeFor[school.ResultStore]()
	for i := range of.NumMethod() {
		if name := of.Method(i).Name; name != "Close" {
			require.Contains(t, known, name)
		}
	}
}
