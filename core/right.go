package core

import "slices"

// UserRole is what a user may do: for the whole cluster, or in one class.
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

// Actor is the user on whose behalf something is done. Every call that checks
// rights takes one.
type Actor struct {
	Handle string
	Roles  []UserRole
	In     map[string]UserRole // class → the role there
}

// System is drover itself, which does what somebody had the right to ask for.
func System() Actor { return Actor{Handle: "drover", Roles: []UserRole{RoleAdmin}} }

// Has reports whether the actor has a role of its own.
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
	ActClassEdit       Action = "class.edit"   // title and term
	ActClassView       Action = "class.view"
	ActRosterView      Action = "roster.view"
	ActEnrolTeacher    Action = "enrol.teacher" // and drop; so the two below
	ActEnrolAssistant  Action = "enrol.teaching_assistant"
	ActEnrolStudent    Action = "enrol.student"
	ActAssignmentView  Action = "assignment.view"
	ActAssignmentPeek  Action = "assignment.peek" // before it is shown
	ActAssignmentEdit  Action = "assignment.edit" // create, change, harness, delete
	ActDeadlineEdit    Action = "deadline.edit"
	ActSubmit          Action = "submission.create"
	ActSubmitFor       Action = "submission.create_for" // another user, or after the cutoff
	ActSubmissionView  Action = "submission.view"       // and download
	ActSubmissionRerun Action = "submission.rerun"
	ActGradeView       Action = "grade.view" // of all: progress, distribution
	ActGradeChange     Action = "grade.change"
	ActExport          Action = "export" // archives of all, assignment CSV, gradebook
	ActExperiment      Action = "experiment"
	ActWebhook         Action = "webhook"
	ActAuditView       Action = "audit.view"

	ActTaskView     Action = "task.view"
	ActTaskControl  Action = "task.control" // cancel, retry
	ActTaskDownload Action = "task.download"
	ActSchedule     Action = "schedule"

	ActRequestCreate  Action = "request.create"  // that grades no submission; so the two below
	ActRequestView    Action = "request.view"    // with its output and files
	ActRequestControl Action = "request.control" // cancel, rerun

	ActClusterView    Action = "cluster.view"
	ActClusterOperate Action = "cluster.operate"
)

// Object is what an action is about. The zero value is the cluster.
type Object struct {
	Class string // "" if it belongs to none
	Owner string // handle of the user whose it is; "" for nobody's
}

// Right says who may do one action.
type Right struct {
	Action Action
	Roles  []UserRole // of the user, or in the object's class
	Owner  bool       // the object's owner may, where it has a class as a member of that
}

// Rights returns the one table of rights, in the order of the actions above.
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
		{ActAssignmentView, member, false},
		{ActAssignmentPeek, staff, false},
		{ActAssignmentEdit, staff, false},
		{ActDeadlineEdit, staff, false},
		{ActSubmit, staff, true},
		{ActSubmitFor, staff, false},
		{ActSubmissionView, staff, true},
		{ActSubmissionRerun, staff, true},
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
		{ActClusterView, watch, false},
		{ActClusterOperate, cluster, false},
	}
}

// Allow returns nil if the actor may do the action with the object, else FORBIDDEN.
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
