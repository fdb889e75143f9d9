package school

import (
	"slices"
	"time"

	"drover/core"
)

// TaskKinds returns all kinds of task: the school's, then the cluster's.
func TaskKinds() core.TaskKinds { return slices.Concat(ownTaskKinds(), core.ClusterTaskKinds()) }

// Requestable returns the kinds that users start by themselves: each makes a file.
func Requestable() core.TaskKinds {
	return TaskKinds().Where(func(k *core.TaskKind) bool { return k.Command != "" })
}

// Schedulable returns the kinds that a schedule can create.
func Schedulable() core.TaskKinds {
	return TaskKinds().Where(func(k *core.TaskKind) bool { return k.Schedulable })
}

var (
	class      = core.TaskArg{Name: "class", Type: core.ArgClass}
	assignment = core.TaskArg{Name: "assignment", Type: core.ArgAssignment}
)

// ownTaskKinds returns the school's kinds of task.
func ownTaskKinds() core.TaskKinds {
	return core.TaskKinds{
		{
			Name: KindArchive, Title: "Archive of submissions", Does: "Write a zip of what was submitted",
			Args: []core.TaskArg{
				class, assignment,
				{Name: "user", Type: core.ArgUser, Label: "Only those of this user, by handle"},
				{Name: "latest", Type: core.ArgFlag, Label: "Only the one of each user that counts"},
				{Name: "for", Type: core.ArgText, Label: "What counts of each student, in the form of a similarity checker: dolos or moss", Choices: ForDolos + "|" + ForMoss},
				{Name: "pseudonyms", Type: core.ArgFlag, Label: "With pseudonyms in place of names, for a similarity checker"},
			},
			Right: core.ActExport, Own: core.ActSubmissionView,
			Command: "assignment archive", Schedulable: true, Rate: core.TaskRate{Most: 2},
		},
		{
			Name: KindAssignmentCSV, Title: "Scores of an assignment", Does: "Write the scores as CSV, a line a student: name, score, time",
			Args:  []core.TaskArg{class, assignment, {Name: "no_header", Type: core.ArgFlag, Label: "Without the line of column names"}},
			Right: core.ActExport, Command: "assignment csv", Schedulable: true, Rate: core.TaskRate{Most: 2},
		},
		{
			Name: KindGradebook, Title: "Gradebook", Does: "Write the gradebook of a class as CSV: a line a student, a column an assignment",
			Args:  []core.TaskArg{class, {Name: "fill", Type: core.ArgText, Label: "What stands where there is no score", Default: DefaultFill, Most: 40}},
			Right: core.ActExport, Command: "grades export", Schedulable: true, Rate: core.TaskRate{Most: 2},
		},
		{
			Name: KindExperiment, Title: "Test an assignment again", Does: "Rerun an assignment, by a task `rerun` for each run",
			Args:  []core.TaskArg{{Name: "experiment"}},
			Right: core.ActExperiment,
		},
		{
			Name: KindRerun, Title: "Test a submission again", Does: "Rerun one submission for an experiment",
			Args:  []core.TaskArg{{Name: "experiment"}, {Name: "submission"}, {Name: "run", Type: core.ArgNumber}},
			Right: core.ActExperiment, Rate: core.TaskRate{Every: time.Second / 10, Burst: 50},
		},
		{
			Name: KindResetMail, Title: "Mail to reset a password", Does: "Send a sign-in link to a user who asked for one",
			Args: []core.TaskArg{{Name: "digest"}, {Name: "site", Most: MaxSite}, {Name: "language"}},
			Rate: core.TaskRate{Every: time.Second / 10, Burst: 50, Most: 4},
		},
		{
			Name: KindInviteMail, Title: "Mail to invite students", Does: "Send invitations to students of a class",
			Args: []core.TaskArg{
				class,
				{Name: "users", Most: maxUsersText},
				{Name: "life_ns", Type: core.ArgTime},
				{Name: "site", Most: MaxSite},
				{Name: "language"},
			},
			Right: core.ActInvite, Rate: core.TaskRate{Most: 2},
		},
		{
			Name: KindDeleteAssignment, Title: "Delete an assignment", Does: "Delete an assignment with all its contents",
			Args:  []core.TaskArg{class, assignment},
			Right: core.ActAssignmentEdit, Shared: true, Rate: core.TaskRate{Most: 2},
		},
		{
			Name: KindDeleteClass, Title: "Delete a class", Does: "Delete a class with all its contents",
			Args:  []core.TaskArg{class},
			Right: core.ActClassManage, Shared: true, Rate: core.TaskRate{Most: 1},
		},
	}
}

// DefaultFill is what a gradebook contains where there is no score.
const DefaultFill = "0"

// The kinds of task of the school.
const (
	KindArchive          = "archive"
	KindAssignmentCSV    = "assignment_csv"
	KindGradebook        = "gradebook"
	KindExperiment       = "experiment"
	KindRerun            = "rerun" // reruns one submission for an experiment
	KindResetMail        = "reset_mail"
	KindInviteMail       = "invite_mail"
	KindDeleteClass      = "delete_class"
	KindDeleteAssignment = "delete_assignment"
)

// ArchiveArgs are the arguments of an archive.
type ArchiveArgs struct {
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	User       string `json:"user,omitempty"` // only this user's submissions; "" is every student's
	Latest     bool   `json:"latest,omitempty"`
	For        string `json:"for,omitempty"`        // ForDolos or ForMoss: the submissions that count, in that program's form
	Pseudonyms bool   `json:"pseudonyms,omitempty"` // with For
}

// The similarity checkers for which archives are made.
const (
	ForDolos = "dolos" // a folder for each submission, and info.csv
	ForMoss  = "moss"  // a folder for each submission, for moss -d
)

// AssignmentCSVArgs are the arguments of an assignment's CSV.
type AssignmentCSVArgs struct {
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	NoHeader   bool   `json:"no_header,omitempty"`
}

// GradebookArgs are the arguments of a gradebook.
type GradebookArgs struct {
	Class string `json:"class"`
	Fill  string `json:"fill"` // used where there is no score
}

// maxUsersText bounds the handles in the arguments of a task, in bytes: enough for those that one call invites.
const maxUsersText = 40 << 10

// MaxSite bounds the URL of a site in the arguments of tasks, in bytes.
const MaxSite = 500

// ResetMailArgs are the arguments of a mail with a sign-in link. The link is made when the mail is sent: no store has it.
type ResetMailArgs struct {
	Digest   string `json:"digest"`             // of the handle or e-mail address that was typed; there need not be such a user
	Site     string `json:"site"`               // URL that links begin with
	Language string `json:"language,omitempty"` // of a user without a language of its own
}

// InviteMailArgs are the arguments of mails with invitations.
type InviteMailArgs struct {
	Class    string        `json:"class"`
	Users    string        `json:"users,omitempty"` // handles with commas between them; "": all who never signed in and have no invitation
	Life     time.Duration `json:"life_ns,omitempty"`
	Site     string        `json:"site"`
	Language string        `json:"language,omitempty"`
}

// ExperimentArgs are the arguments of an experiment's task; the rest is in the Experiment.
type ExperimentArgs struct {
	Experiment string `json:"experiment"`
}

// RerunArgs are the arguments of the rerun of one submission.
type RerunArgs struct {
	Experiment string `json:"experiment"`
	Submission string `json:"submission"`
	Run        int    `json:"run"` // 0 to Repeat-1
}

// DeleteArgs are the arguments of a deletion.
type DeleteArgs struct {
	Class      string `json:"class"`
	Assignment string `json:"assignment,omitempty"` // "" is the whole class
}
