package core

import "slices"

// UserRole is a set of rights of a user: for the whole cluster, or in one class.
type UserRole string

// The roles. Admin, operator, observer and runner are a user's own; the others are held in a class.
const (
	RoleAdmin    UserRole = "admin"    // everything except what is personal to a user
	RoleOperator UserRole = "operator" // the cluster: hosts, pools, queues, tasks; no grades
	RoleObserver UserRole = "observer" // looks at the cluster
	RoleRunner   UserRole = "runner"   // runs requests of its own; often a program

	RoleTeacher   UserRole = "teacher"
	RoleAssistant UserRole = "teaching_assistant"
	RoleStudent   UserRole = "student"
)

// Valid reports whether users can have r for the whole cluster.
func (r UserRole) Valid() bool {
	return r == RoleAdmin || r == RoleOperator || r == RoleObserver || r == RoleRunner
}

// InClass reports whether users can have r in a class.
func (r UserRole) InClass() bool { return r == RoleTeacher || r == RoleAssistant || r == RoleStudent }

// Staff reports whether r teaches.
func (r UserRole) Staff() bool { return r == RoleTeacher || r == RoleAssistant }

// Actor is the user on whose behalf a call is made. Every call that checks rights takes one.
type Actor struct {
	Handle string
	Roles  []UserRole
	In     map[string]UserRole // class → role there
}

// System returns the actor for drover itself, which carries out what a user had the right to start.
func System() Actor { return Actor{Handle: "drover", Roles: []UserRole{RoleAdmin}} }

// Has reports whether the actor has the role for the whole cluster.
func (a Actor) Has(r UserRole) bool { return slices.Contains(a.Roles, r) }

// StaffOf reports whether the actor teaches the class.
func (a Actor) StaffOf(class string) bool { return a.In[class].Staff() }

// Action is something that needs a right.
type Action string

// The actions.
const (
	ActUserManage Action = "user.manage" // create, change, disable, delete, look at any
	ActUserView   Action = "user.view"   // of one user
	ActAccount    Action = "account"     // how one user signs in: list and revoke tokens, identities, sessions

	ActClassManage     Action = "class.manage" // create, delete
	ActClassEdit       Action = "class.edit"   // change title and term
	ActClassView       Action = "class.view"
	ActRosterView      Action = "roster.view"
	ActEnrolTeacher    Action = "enrol.teacher" // enrol and drop; the same for the two below
	ActEnrolAssistant  Action = "enrol.teaching_assistant"
	ActEnrolStudent    Action = "enrol.student"
	ActInvite          Action = "invite" // make and withdraw invitations of students who never signed in
	ActAssignmentView  Action = "assignment.view"
	ActAssignmentPeek  Action = "assignment.peek" // see it before it is visible
	ActAssignmentEdit  Action = "assignment.edit" // create, change, harness, delete
	ActDeadlineEdit    Action = "deadline.edit"
	ActSubmit          Action = "submission.create"
	ActSubmitFor       Action = "submission.create_for" // for another user, or after the cutoff
	ActSubmissionView  Action = "submission.view"       // view and download
	ActSubmissionRerun Action = "submission.rerun"
	ActComment         Action = "submission.comment" // comment on it, release comments, answer its questions
	ActAsk             Action = "submission.ask"     // ask a question about one's own
	ActGradeView       Action = "grade.view"         // grades of all students: progress, distribution
	ActGradeChange     Action = "grade.change"
	ActExport          Action = "export" // archives of all, assignment CSV, gradebook
	ActExperiment      Action = "experiment"
	ActWebhook         Action = "webhook"
	ActAuditView       Action = "audit.view"

	ActTaskView     Action = "task.view"
	ActTaskControl  Action = "task.control" // cancel, retry
	ActTaskDownload Action = "task.download"
	ActSchedule     Action = "schedule"

	ActRequestCreate  Action = "request.create"  // without a submission that it grades; the same for the two below
	ActRequestView    Action = "request.view"    // with its output and files
	ActRequestControl Action = "request.control" // cancel, rerun

	ActLeaseView   Action = "lease.view"
	ActLeaseManage Action = "lease.manage" // create, change, delete

	ActClusterView    Action = "cluster.view"
	ActClusterOperate Action = "cluster.operate"
)

// Object is what an action is applied to. The zero value is the cluster.
type Object struct {
	Class string // "" if it belongs to no class
	Owner string // handle of the user who owns it; "" if nobody does
}

// Right says who may do one action.
type Right struct {
	Action Action
	Roles  []UserRole // roles of the user, or in the object's class
	Owner  bool       // the object's owner may; if it has a class, only as a member of the class
}

// Rights returns the table of rights, in the order of the actions above.
func Rights() []Right {
	admin := []UserRole{RoleAdmin}
	cluster := []UserRole{RoleAdmin, RoleOperator}
	watch := []UserRole{RoleAdmin, RoleOperator, RoleObserver}
	teach := []UserRole{RoleAdmin, RoleTeacher}
	staff := []UserRole{RoleAdmin, RoleTeacher, RoleAssistant}
	member := []UserRole{RoleAdmin, RoleTeacher, RoleAssistant, RoleStudent}
	return []Right{
		{ActUserManage, admin, false},
		{ActUserView, admin, true},
		{ActAccount, admin, true},
		{ActClassManage, admin, false},
		{ActClassEdit, teach, false},
		{ActClassView, member, false},
		{ActRosterView, staff, false},
		{ActEnrolTeacher, admin, false},
		{ActEnrolAssistant, teach, false},
		{ActEnrolStudent, staff, false},
		{ActInvite, teach, false},
		{ActAssignmentView, member, false},
		{ActAssignmentPeek, staff, false},
		{ActAssignmentEdit, staff, false},
		{ActDeadlineEdit, staff, false},
		{ActSubmit, staff, true},
		{ActSubmitFor, staff, false},
		{ActSubmissionView, staff, true},
		{ActSubmissionRerun, staff, true},
		{ActComment, staff, false},
		{ActAsk, nil, true},
		{ActGradeView, staff, false},
		{ActGradeChange, staff, false},
		{ActExport, staff, false},
		{ActExperiment, staff, false},
		{ActWebhook, teach, false},
		{ActAuditView, teach, false},
		{ActTaskView, append(staff, RoleOperator, RoleObserver), true},
		{ActTaskControl, append(teach, RoleOperator), true},
		{ActTaskDownload, nil, true},
		{ActSchedule, cluster, false},
		{ActRequestCreate, []UserRole{RoleAdmin, RoleOperator, RoleRunner}, false},
		{ActRequestView, cluster, true},
		{ActRequestControl, cluster, true},
		{ActLeaseView, append(staff, RoleOperator, RoleObserver), true},
		{ActLeaseManage, cluster, false},
		{ActClusterView, watch, false},
		{ActClusterOperate, cluster, false},
	}
}

// Allow returns nil if the actor may apply the action to the object, else FORBIDDEN.
func Allow(a Actor, act Action, o Object) error {
	for _, r := range Rights() {
		if r.Action != act {
			continue
		}
		member := o.Class == "" || a.In[o.Class] != ""
		if r.Owner && o.Owner != "" && o.Owner == a.Handle && (member || a.Has(RoleAdmin)) {
			return nil
		}
		for _, role := range r.Roles {
			if a.Has(role) || role.InClass() && o.Class != "" && a.In[o.Class] == role {
				return nil
			}
		}
		break
	}
	about := ""
	if o.Class != "" {
		about = " in class " + o.Class
	}
	return Errorf(CodeForbidden, a.Handle, "%s may not do that%s (%s)", a.Handle, about, act)
}
