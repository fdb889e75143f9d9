// Package storetest is the suite that every school.ResultStore passes.
package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
)

// test is one of the suite.
type test struct {
	name string
	run  func(t *testing.T, s school.ResultStore)
}

// Run runs the suite. open returns a new, empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) school.ResultStore) {
	t.Helper()
	for _, test := range slices.Concat(requestTests(), taskTests(), leaseTests(), instanceTests(), schoolTests(), accountTests(), statisticTests()) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			test.run(t, s)
		})
	}
}

// requestTests are those of requests, pools, images and the store itself.
func requestTests() []test {
	return []test{
		{"Create", create},
		{"CreateKeepsEverything", createKeepsEverything},
		{"CreateAgain", createAgain},
		{"CreateIdempotent", createIdempotent},
		{"CreateRefuses", createRefuses},
		{"List", list},
		{"ListPages", listPages},
		{"Unfinished", unfinished},
		{"Digests", digests},
		{"Record", record},
		{"RecordKeepsEverything", recordKeepsEverything},
		{"RecordLater", recordLater},
		{"RecordSameClaim", recordSameClaim},
		{"RecordWithoutClaim", recordWithoutClaim},
		{"RecordRefuses", recordRefuses},
		{"RecordBoundsHistory", recordBoundsHistory},
		{"Terminal", terminal},
		{"Begin", begin},
		{"RaceBegin", raceBegin},
		{"Rerun", rerun},
		{"RerunRefuses", rerunRefuses},
		{"Changes", changes},
		{"ChangesRefuse", changesRefuse},
		{"ChangesThatRan", changesThatRan},
		{"RaceChanges", raceChanges},
		{"Removals", removals},
		{"AttemptsCutOutput", attemptsCutOutput},
		{"Purge", purge},
		{"RaceRecord", raceRecord},
		{"RaceCreate", raceCreate},
		{"RaceRerun", raceRerun},
		{"Pools", pools},
		{"JobTypes", jobTypes},
		{"Batches", batches},
		{"BatchesMove", batchesMove},
		{"BatchesRefuse", batchesRefuse},
		{"BatchesPurge", batchesPurge},
		{"RaceBatches", raceBatches},
		{"PoolsRemoved", poolsRemoved},
		{"HostWishes", hostWishes},
		{"HostWishesRefuse", hostWishesRefuse},
		{"RaceHostWishes", raceHostWishes},
		{"JoinTokens", joinTokens},
		{"Images", images},
		{"ImagesRefuse", imagesRefuse},
		{"Calls", calls},
		{"Cancelled", cancelled},
		{"ID", id},
		{"Bindings", bindings},
		{"Ping", ping},
		{"Closed", closed},
		{"Model", model},
	}
}

// statisticTests are those of changes of state and of statistics.
func statisticTests() []test {
	return []test{
		{"StateChanges", stateChanges},
		{"StateChangesRefuse", stateChangesRefuse},
		{"StateChangesTrim", stateChangesTrim},
		{"Marks", marks},
		{"RaceMarks", raceMarks},
		{"Ended", ended},
		{"Buckets", bucketsStay},
	}
}

// taskTests are those of tasks, webhooks, the outbox, schedules and lifetimes.
func taskTests() []test {
	return []test{
		{"Tasks", tasks},
		{"TasksAgain", tasksAgain},
		{"TasksUnique", tasksUnique},
		{"TasksRefuse", tasksRefuse},
		{"TasksEnd", tasksEnd},
		{"TasksEndRefuses", tasksEndRefuses},
		{"TasksFail", tasksFail},
		{"TasksRetry", tasksRetry},
		{"TasksRetryLimit", tasksRetryLimit},
		{"TasksChildren", tasksChildren},
		{"UnfinishedTasks", unfinishedTasks},
		{"ListTasks", listTasks},
		{"Webhooks", webhooks},
		{"WebhooksList", webhooksList},
		{"WebhooksRefuse", webhooksRefuse},
		{"WebhooksLimit", webhooksLimit},
		{"WebhooksRace", webhooksRace},
		{"WebhooksOfClass", webhooksOfClass},
		{"Outbox", outbox},
		{"OutboxOrder", outboxOrder},
		{"OutboxRefuses", outboxRefuses},
		{"OutboxPurge", outboxPurge},
		{"OutboxUnanswered", outboxUnanswered},
		{"OutboxDeleted", outboxDeleted},
		{"OutboxRace", outboxRace},
		{"Outputs", outputs},
		{"OutputsLater", outputsLater},
		{"OutputsBatches", outputsBatches},
		{"OutputsRace", outputsRace},
		{"Downloads", downloads},
		{"Schedules", schedules},
		{"SchedulesRefuse", schedulesRefuse},
		{"SchedulesRace", schedulesRace},
		{"PurgeTasks", purgeTasks},
		{"RaceTasks", raceTasks},
		{"RaceUnique", raceUnique},
		{"ModelTasks", modelTasks},
	}
}

// schoolTests are those of roster, coursework and the audit log.
func schoolTests() []test {
	return []test{
		{"Revisions", revisions},
		{"RaceRevisions", raceRevisions},
		{"Users", users},
		{"UsersEmail", usersEmail},
		{"RaceEmail", raceEmail},
		{"UsersRefuse", usersRefuse},
		{"UsersPages", usersPages},
		{"UsersDelete", usersDelete},
		{"Classes", classes},
		{"ClassesDelete", classesDelete},
		{"ClassDeleting", classDeleting},
		{"Enrolments", enrolments},
		{"Memberships", memberships},
		{"Assignments", assignments},
		{"AssignmentsRefuse", assignmentsRefuse},
		{"AssignmentsPages", assignmentsPages},
		{"AssignmentDeleting", assignmentDeleting},
		{"Deadlines", deadlines},
		{"DeadlinesRefuse", deadlinesRefuse},
		{"Submissions", submissions},
		{"SubmissionsAgain", submissionsAgain},
		{"SubmissionsIdempotent", submissionsIdempotent},
		{"SubmissionsWithRequests", submissionsWithRequests},
		{"RaceSubmissions", raceSubmissions},
		{"SubmissionsRefuse", submissionsRefuse},
		{"SubmissionsPages", submissionsPages},
		{"ListSubmissions", listSubmissions},
		{"Bind", bind},
		{"RaceBind", raceBind},
		{"Grades", grades},
		{"Standings", standings},
		{"StandingsUngraded", standingsUngraded},
		{"StandingsOutcome", standingsOutcome},
		{"StandingsNewest", standingsNewest},
		{"StandingsPages", standingsPages},
		{"LeadsCount", leadsCount},
		{"LeadsRefuse", leadsRefuse},
		{"PurgeSpares", purgeSpares},
		{"RacePurge", racePurge},
		{"RaceDelete", raceDelete},
		{"DeleteSubmissions", deleteSubmissions},
		{"DeleteSubmissionsBatches", deleteSubmissionsBatches},
		{"DigestsSchool", digestsSchool},
		{"Comments", comments},
		{"CommentsAnswered", commentsAnswered},
		{"CommentsOnce", commentsOnce},
		{"CommentsReleased", commentsReleased},
		{"CommentsTold", commentsTold},
		{"CommentsRefuse", commentsRefuse},
		{"CommentsDeleted", commentsDeleted},
		{"Experiments", experiments},
		{"ExperimentsRefuse", experimentsRefuse},
		{"ExperimentsMove", experimentsMove},
		{"Audit log", auditLog},
		{"AuditLogStays", auditLogStays},
		{"AuditLogRefuses", auditLogRefuses},
		{"ModelSchool", modelSchool},
	}
}

// accountTests are those of how users prove who they are.
func accountTests() []test {
	return []test{
		{"Accounts", accounts},
		{"AccountsRefuse", accountsRefuse},
		{"AccountsDelete", accountsDelete},
		{"WaysIn", waysIn},
		{"RosterImports", rosterImports},
		{"LTI", ltiRecords},
		{"LTIRefuses", ltiRefuses},
		{"UsersAtOnce", usersAtOnce},
		{"Tokens", tokens},
		{"TokensRefuse", tokensRefuse},
		{"TokensSpend", tokensSpend},
		{"TokensTouch", tokensTouch},
		{"TokensLimit", tokensLimit},
		{"TokensPurge", tokensPurge},
		{"RaceSpend", raceSpend},
		{"RaceTokens", raceTokens},
		{"Identities", identities},
		{"IdentitiesRefuse", identitiesRefuse},
		{"IdentitiesLimit", identitiesLimit},
		{"RaceIdentity", raceIdentity},
		{"RaceAccountDelete", raceAccountDelete},
	}
}

// NewID makes a request id; later ones are greater.
func NewID() string { return strings.ToLower(ulid.Make().String()) }

// Spec makes a plain command of a submitter.
func Spec(submitter string) core.Spec {
	return core.Spec{
		ID: NewID(), Generation: 1, Pool: "default", Priority: core.PriorityNormal, Submitter: submitter,
		Command: []string{"true"}, Submitted: 1_700_000_000_000,
	}
}

// Result makes a good end of a spec under a token.
func Result(spec core.Spec, token string) core.Result {
	return core.Result{
		ID: spec.ID, Generation: spec.Generation, State: core.RequestCompleted, Attempt: 1,
		Host: "h1", Pool: spec.Pool, VM: "vm-" + strings.ReplaceAll(token, ".", "-"), Token: token,
		Times: core.Times{Submitted: spec.Submitted, Queued: 1, Claimed: 2, Started: 3, Finished: 4},
	}
}

// mustCreate creates a spec that is new.
func mustCreate(t *testing.T, s school.ResultStore, spec core.Spec) core.Spec {
	t.Helper()
	row, is, err := s.Create(t.Context(), spec)
	require.NoError(t, err)
	require.True(t, is, "created")
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, row)
	return spec
}

// mustRecord records a result and requires the answer.
func mustRecord(t *testing.T, s school.ResultStore, r core.Result, want bool) {
	t.Helper()
	got, err := s.Record(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, want, got, "accepted")
}

// mustGet returns the row of a request that is there.
func mustGet(t *testing.T, s school.ResultStore, id string) core.Row {
	t.Helper()
	row, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	return row
}

// requireCode requires an error with the code and a sentence.
func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), err.Error())
}

// soon is a time after everything that a test did.
func soon() time.Time { return time.Now().Add(time.Hour) }

// ids returns the ids of rows.
func ids(rows []core.Row) []string {
	all := []string{}
	for _, row := range rows {
		all = append(all, row.Spec.ID)
	}
	return all
}
