package resultstoretest

import (
	"testing"

	"drover/core"
)

// test is a test of the suite; its store is new and empty.
type test struct {
	name string
	run  func(t *testing.T, s core.ResultStore)
}

// The tests of the suite, by what they are about.
var (
	// About requests and their results.
	requestTests = []test{
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
		{"Rerun", rerun},
		{"RerunRefuses", rerunRefuses},
		{"AttemptsCutOutput", attemptsCutOutput},
		{"Purge", purge},
		{"RaceRecord", raceRecord},
		{"RaceCreate", raceCreate},
		{"RaceRerun", raceRerun},
		{"Outputs", outputs},
		{"OutputsLater", outputsLater},
		{"OutputsBatches", outputsBatches},
		{"OutputsRace", outputsRace},
		{"Model", model},
	}
	// About tasks.
	taskTests = []test{
		{"PurgeTasks", purgeTasks},
		{"RaceTasks", raceTasks},
		{"RaceUnique", raceUnique},
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
		{"Downloads", downloads},
		{"ModelTasks", modelTasks},
	}
	// About webhooks, the outbox and schedules.
	toldTests = []test{
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
		{"Schedules", schedules},
		{"SchedulesRefuse", schedulesRefuse},
		{"SchedulesRace", schedulesRace},
	}
	// About users, classes, coursework and the audit trail.
	schoolTests = []test{
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
		{"RaceSubmissions", raceSubmissions},
		{"SubmissionsRefuse", submissionsRefuse},
		{"SubmissionsPages", submissionsPages},
		{"ListSubmissions", listSubmissions},
		{"Bind", bind},
		{"RaceBind", raceBind},
		{"Grades", grades},
		{"Standings", standings},
		{"StandingsUngraded", standingsUngraded},
		{"StandingsNewest", standingsNewest},
		{"StandingsPages", standingsPages},
		{"PurgeSpares", purgeSpares},
		{"RacePurge", racePurge},
		{"DeleteSubmissions", deleteSubmissions},
		{"DeleteSubmissionsBatches", deleteSubmissionsBatches},
		{"DigestsSchool", digestsSchool},
		{"Experiments", experiments},
		{"ExperimentsRefuse", experimentsRefuse},
		{"Trail", trail},
		{"TrailStays", trailStays},
		{"TrailRefuses", trailRefuses},
		{"ModelSchool", modelSchool},
	}
	// About the store as a whole, pools and images.
	storeTests = []test{
		{"Pools", pools},
		{"Images", images},
		{"ImagesRefuse", imagesRefuse},
		{"Calls", calls},
		{"Cancelled", cancelled},
		{"ID", id},
		{"Ping", ping},
		{"Closed", closed},
	}
)
