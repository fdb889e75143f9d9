package access

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/cluster/history"
	"drover/core/cluster/join"
	"drover/core/cluster/lease"
	"drover/core/cluster/operate"
	"drover/core/requests"
	"drover/core/school"
)

// Backend executes a user's commands: either the cluster itself, or a site. Both return the same types and errors.
type Backend interface {
	// At names the cluster or site.
	At() string
	// Who returns the acting user.
	Who(ctx context.Context) (core.Actor, error)

	classBackend
	assignmentBackend
	experimentBackend
	submissionBackend
	requestBackend
	batchBackend
	taskBackend
	statsBackend
	leaseBackend
	hostBackend
}

// classBackend is the part of a backend about classes, their members and links for these.
type classBackend interface {
	FindClass(ctx context.Context, query string) (school.Class, error)
	ListClasses(ctx context.Context, after string, limit int) ([]classes.ClassEntry, error)
	ViewClass(ctx context.Context, handle string) (classes.ClassEntry, error)
	Roster(ctx context.Context, class, after string, limit int) ([]classes.Member, error)
	Enrol(ctx context.Context, class, user string, role core.UserRole) error
	Drop(ctx context.Context, class, user string) error
	ImportRoster(ctx context.Context, class string, csv io.Reader, opts classes.ImportOptions) (classes.Imported, error)
	UndoImport(ctx context.Context, class string) (classes.Undone, error)
	// MakeLink makes a link by which a user can sign in once, within life; 0 is an hour.
	MakeLink(ctx context.Context, user string, life time.Duration) (account.Link, error)
	// MakeLinks makes such links for a page of a class's members; next begins the page after.
	MakeLinks(ctx context.Context, of account.ClassLinks) (all []account.Link, next string, err error)
	// Invite makes links by which students of a class who never signed in do so once.
	Invite(ctx context.Context, of account.Invites) (account.Invited, error)
	// MailInvitations has such links mailed, by a task.
	MailInvitations(ctx context.Context, of account.Invites) (core.Task, error)
}

// assignmentBackend is the part of a backend about assignments, deadlines, progress and grades.
type assignmentBackend interface {
	FindAssignment(ctx context.Context, query string) (school.Assignment, error)
	ListAssignments(ctx context.Context, f classes.AssignmentFilter) (all []classes.AssignmentEntry, left int, err error)
	ViewAssignment(ctx context.Context, class, handle string) (classes.AssignmentEntry, error)
	// Handout lists the files that an assignment has for students.
	Handout(ctx context.Context, class, handle string) ([]core.File, error)
	OpenHandout(ctx context.Context, class, handle, path string) (core.File, io.ReadCloser, error)
	Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error)
	Progress(ctx context.Context, class, assignment string) (classes.Progress, error)
	Missing(ctx context.Context, class, assignment, after string, limit int) ([]classes.Absence, error)
	CreateAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error)
	EditAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error)
	DeleteAssignment(ctx context.Context, class, handle string) (core.Task, error)
	SetHarness(ctx context.Context, class, handle string, archive io.Reader) (school.Assignment, error)
	RemoveHarness(ctx context.Context, class, handle string) (school.Assignment, error)
	// PoolChoices lists the pools that can grade assignments of a class.
	PoolChoices(ctx context.Context, class string) ([]classes.PoolChoice, error)
	// SetDeadline sets a user's personal dates; without any, the assignment's apply again.
	SetDeadline(ctx context.Context, own school.Deadline) error
	ChangeGrade(ctx context.Context, change classes.GradeChange) (school.Standing, error)
}

// experimentBackend is the part of a backend about experiments.
type experimentBackend interface {
	StartExperiment(ctx context.Context, class, assignment string, t classes.Trial) (school.Experiment, error)
	Experiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error)
	ExperimentProgress(ctx context.Context, id string) (school.Experiment, core.TaskProgress, error)
	ViewExperiment(ctx context.Context, id string, p classes.OutcomePage) (classes.ExperimentView, error)
	ApplyExperiment(ctx context.Context, id string) (classes.Applied, error)
	AbortExperiment(ctx context.Context, id string) (school.Experiment, error)
}

// submissionBackend is the part of a backend about submissions.
type submissionBackend interface {
	Submit(ctx context.Context, h classes.NewSubmission) (school.Submission, error)
	SubmitGit(ctx context.Context, h classes.NewSubmission, address, ref string) (school.Submission, error)
	ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]classes.SubmissionEntry, error)
	ViewSubmission(ctx context.Context, id string) (classes.SubmissionView, error)
	OpenFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error)
	WriteZip(ctx context.Context, id string, to io.Writer) error
	Resubmit(ctx context.Context, id string) error
	CancelSubmission(ctx context.Context, id string) (core.RequestState, error)
	Comments(ctx context.Context, submission string) ([]school.Comment, error)
	AddComment(ctx context.Context, submission string, n classes.NewComment) (school.Comment, error)
	ReleaseComments(ctx context.Context, submission string) (int, error)
	EditComment(ctx context.Context, id, text string) error
	DeleteComment(ctx context.Context, id string) error
	Ask(ctx context.Context, submission, text, key string) (school.Comment, error)
	Answer(ctx context.Context, submission, text, key string) (school.Comment, error)
}

// requestBackend is the part of a backend about requests.
type requestBackend interface {
	SubmitRequest(ctx context.Context, draft requests.Draft) (requests.View, error)
	PreviewRequest(ctx context.Context, draft requests.Draft) (requests.Preview, error)
	ViewRequest(ctx context.Context, id string) (requests.View, error)
	ListRequests(ctx context.Context, f requests.Filter) ([]requests.View, error)
	Attempts(ctx context.Context, id string) ([]core.Attempt, error)
	OpenRequestFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error)
	CancelRequest(ctx context.Context, id string) (core.RequestState, error)
	// ChangeRequest changes a request that waits; what to leaves out stays.
	ChangeRequest(ctx context.Context, id string, to core.Change) (requests.View, error)
	// DeleteRequest returns whether it is gone: a running one goes once it has ended.
	DeleteRequest(ctx context.Context, id string) (bool, error)
	ExplainRequest(ctx context.Context, id string) ([]string, error)
	RerunRequest(ctx context.Context, id string) (requests.View, error)
	// ReplayRequest requests that a finished request is run again as it was.
	ReplayRequest(ctx context.Context, id string, o requests.ReplayOptions) (requests.View, error)
	// CompareRequest compares a replay with the request that it runs again.
	CompareRequest(ctx context.Context, id string) (requests.Comparison, error)
	// FollowRequest yields the events of a request after the event with the id last, until it has ended.
	FollowRequest(ctx context.Context, id, last string) iter.Seq2[requests.Event, error]
	// WhyRequestWaits returns nil for a request that does not wait.
	WhyRequestWaits(ctx context.Context, id string) (*requests.Waiting, error)
}

// batchBackend is the part of a backend about batches.
type batchBackend interface {
	SubmitBatch(ctx context.Context, draft requests.BatchDraft) (requests.BatchView, error)
	ViewBatch(ctx context.Context, id string) (requests.BatchView, error)
	ListBatches(ctx context.Context, f core.BatchFilter) ([]requests.BatchView, error)
	// BatchResults returns a page of results, in the order of the jobs, from one on.
	BatchResults(ctx context.Context, id string, from, limit int) (requests.ResultPage, error)
	CancelBatch(ctx context.Context, id string) (requests.BatchView, error)
	RerunBatch(ctx context.Context, id, key string) (requests.BatchView, error)
}

// taskBackend is the part of a backend about tasks.
type taskBackend interface {
	StartTask(ctx context.Context, kind string, args json.RawMessage) (core.Task, error)
	TrackTask(ctx context.Context, id string) (classes.TaskView, error)
	TrackTasks(ctx context.Context, f core.TaskFilter) ([]classes.TaskView, error)
	CancelTask(ctx context.Context, id string) (core.TaskState, error)
	RetryTask(ctx context.Context, id string) (core.Task, error)
	OpenDownload(ctx context.Context, id string) (core.Download, io.ReadCloser, error)
	// WhyTaskWaits returns why no taskrunner has begun a task yet, as far as the user may know.
	WhyTaskWaits(ctx context.Context) string
}

// statsBackend is the part of a backend about statistics.
type statsBackend interface {
	// Stats returns what ended in the cluster, parted by one of history.Ways or, by "", as a whole.
	Stats(ctx context.Context, by string, from, until time.Time) (history.Stats, error)
	// ClassStats returns what ended of a class, parted by one of history.ClassWays or, by "", as a whole.
	ClassStats(ctx context.Context, class, by string, from, until time.Time) (history.Stats, error)
}

// leaseBackend is the part of a backend about leases.
type leaseBackend interface {
	PreviewLease(ctx context.Context, d lease.Draft) (core.Lease, error)
	CreateLease(ctx context.Context, d lease.Draft) (core.Lease, error)
	ChangeLease(ctx context.Context, id string, change lease.Change) (core.Lease, error)
	DeleteLease(ctx context.Context, id string) error
	ViewLease(ctx context.Context, id string) (core.Lease, error)
	ListLeases(ctx context.Context, f core.LeaseFilter) ([]core.Lease, error)
	// Calendar returns what leases hold between two moments, ms since 1970, and how many units of a pool ("" for none) are
	// free when.
	Calendar(ctx context.Context, from, to int64, pool string) (lease.View, error)
}

// hostBackend is the part of a backend about hosts that come and go.
type hostBackend interface {
	ListHostGroups(ctx context.Context) ([]operate.Group, error)
	ViewHostGroup(ctx context.Context, name string) (operate.Group, error)
	// SetHostGroup makes a host group, or changes all its settings.
	SetHostGroup(ctx context.Context, g core.HostGroup) (core.HostGroup, error)
	PauseHostGroup(ctx context.Context, name string, paused bool) error
	RemoveHostGroup(ctx context.Context, name string) error
	ListInstances(ctx context.Context, f core.InstanceFilter) ([]core.Instance, error)
	ViewInstance(ctx context.Context, id string) (core.Instance, error)
	// TerminateInstance ends a machine, with now set without waiting for what its host has in hand.
	TerminateInstance(ctx context.Context, id string, now bool) (core.Instance, error)
	ListJoinTokens(ctx context.Context) ([]core.JoinToken, error)
	// MakeJoinToken returns the token's secret, which nobody can read later.
	MakeJoinToken(ctx context.Context, w join.Wish) (secret string, t core.JoinToken, err error)
	RevokeJoinToken(ctx context.Context, id string) error
	// SiteAddress returns where machines that join reach the site.
	SiteAddress(ctx context.Context) string
}

// BackendCommand describes a subcommand for a cluster or a site, with an example of it.
func BackendCommand(name, usage, args, example string, own []cli.Flag, action func(c *cli.Context, d Backend) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args, Description: "Example: " + example, OnUsageError: terminal.UsageError,
		Flags: terminal.WithSettings(slices.Concat(own, []cli.Flag{AsFlag(), terminal.JSONFlag()}), "client"), Action: WithBackend(action),
	}
}
