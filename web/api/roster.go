package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func rosterTable() []entry {
	return []entry{
		is(Operation{"listMembers", get, "/classes/{class}/members", core.ActRosterView, school.ScopeRead, 0, "List the members of a class, by handle"}, (*server).listMembers),
		is(Operation{"enrol", put, "/classes/{class}/members/{user}", core.ActEnrolStudent, school.ScopeTeach, 0, "Enrol a user in a class, or change the role there; roles other than student need more rights"}, (*server).enrol),
		is(Operation{"drop", remove, "/classes/{class}/members/{user}", core.ActEnrolStudent, school.ScopeTeach, 0, "Drop a user from a class; submissions stay"}, (*server).drop),
		is(Operation{"importRoster", post, "/classes/{class}/roster", core.ActEnrolStudent, school.ScopeTeach, 0, "Enrol the people of a table: its first line names the columns, as drover, Canvas and Moodle do"}, (*server).importRoster),
		is(Operation{"undoImport", post, "/classes/{class}/roster/undo", core.ActEnrolStudent, school.ScopeTeach, 0, "Undo the last import into a class"}, (*server).undoImport),
		is(Operation{"listInvitations", get, "/classes/{class}/invitations", core.ActInvite, school.ScopeTeach, 0, "List the students of a class with their invitations, by handle"}, (*server).listInvitations),
		is(Operation{"invite", post, "/classes/{class}/invitations", core.ActInvite, school.ScopeTeach, 201, "Invite students who never signed in, all or some; only this answer has the links"}, (*server).invite),
		is(Operation{"mailInvitations", post, "/classes/{class}/invitations/mail", core.ActInvite, school.ScopeTeach, 202, "Mail invitations to students who never signed in, all or some, by a task"}, (*server).mailInvitations),
		is(Operation{"withdrawInvitation", remove, "/classes/{class}/invitations/{user}", core.ActInvite, school.ScopeTeach, 0, "Withdraw a student's invitation"}, (*server).withdrawInvitation),
		is(Operation{"listDeadlines", get, "/classes/{class}/deadlines", core.ActDeadlineEdit, school.ScopeRead, 0, "List users' own deadlines in a class: all for staff, the caller's with user"}, (*server).listDeadlines),
		is(Operation{"setDeadline", put, "/classes/{class}/assignments/{assignment}/deadlines/{user}", core.ActDeadlineEdit, school.ScopeTeach, 0, "Set a user's own deadlines"}, (*server).setDeadline),
		is(Operation{"removeDeadline", remove, "/classes/{class}/assignments/{assignment}/deadlines/{user}", core.ActDeadlineEdit, school.ScopeTeach, 0, "Remove a user's own deadlines"}, (*server).removeDeadline),
	}
}

// Membership is a user's role in a class.
type Membership struct {
	Role    core.UserRole `json:"role" enum:"student,teaching_assistant,teacher"`
	Section *string       `json:"section,omitempty" maxLength:"40" doc:"part of the class, such as a tutorial group; left out: as it is"`
}

func (s *server) listMembers(ctx context.Context, a core.Actor, in *struct {
	InClass
	Cursor
	Search string        `query:"search" maxLength:"100" doc:"only those with this text in handle, name or e-mail address"`
	Role   core.UserRole `query:"role" enum:"student,teaching_assistant,teacher" doc:"only those with this role"`
},
) (*listed[classes.Member], error) {
	found, err := s.Classes.FindMembers(ctx, a, in.Class, classes.RosterQuery{Text: in.Search, Role: in.Role, After: in.Cursor.Cursor, Limit: in.more()})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(m *classes.Member) string { return m.User }), nil
}

func (s *server) enrol(ctx context.Context, a core.Actor, in *struct {
	InClass
	OneUser
	Body Membership
},
) (*done, error) {
	err := s.Classes.Enrol(ctx, a, in.Class, in.User, in.Body.Role)
	if err == nil && in.Body.Section != nil {
		err = s.Classes.SetSection(ctx, a, in.Class, in.User, *in.Body.Section)
	}
	return &done{}, err
}

func (s *server) drop(ctx context.Context, a core.Actor, in *struct {
	InClass
	OneUser
},
) (*done, error) {
	return &done{}, s.Classes.Drop(ctx, a, in.Class, in.User)
}

func (s *server) importRoster(ctx context.Context, a core.Actor, in *struct {
	InClass
	Dry     bool     `query:"dry_run" doc:"only report what would be done"`
	Names   bool     `query:"names" doc:"give existing users the names of the file, too; needs the right to manage users"`
	Columns []string `query:"columns" maxItems:"1000" doc:"what each column is, in the order of the file: handle, login, email, name, first_name, last_name, sorted_name, section, role or ignored; empty: what its name says"`
},
) (*answer[classes.Imported], error) {
	return answered(s.Classes.ImportRoster(ctx, a, in.Class, s.body(ctx, classes.MaxImportBytes+1), classes.ImportOptions{DryRun: in.Dry, Columns: in.Columns, Names: in.Names}))
}

func (s *server) undoImport(ctx context.Context, a core.Actor, in *InClass) (*answer[classes.Undone], error) {
	return answered(s.Classes.UndoImport(ctx, a, in.Class))
}

// DeadlinePage is a list of deadlines, which are few enough for one page.
type DeadlinePage = Page[school.Deadline]

func (s *server) listDeadlines(ctx context.Context, a core.Actor, in *struct {
	InClass
	Assignment string `query:"assignment" maxLength:"64" doc:"only for this user"`
	User       string `query:"user" maxLength:"64" doc:"only those of this user"`
},
) (*answer[DeadlinePage], error) {
	return all(s.Classes.Deadlines(ctx, a, in.Class, in.Assignment, in.User))
}

// OwnDeadline are a user's personal dates.
type OwnDeadline struct {
	Due    int64  `json:"due_ms,omitempty" doc:"ms since 1970; 0: the assignment's"`
	Cutoff int64  `json:"cutoff_ms,omitempty" doc:"0: the assignment's"`
	Reason string `json:"reason,omitempty"`
}

func (s *server) setDeadline(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	OneUser
	Body OwnDeadline
},
) (*done, error) {
	return &done{}, s.Classes.SetDeadline(ctx, a, school.Deadline{
		Class: in.Class, Assignment: in.Assignment, User: in.User, Due: in.Body.Due, Cutoff: in.Body.Cutoff, Reason: in.Body.Reason,
	})
}

func (s *server) removeDeadline(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	OneUser
	Reason string `query:"reason" maxLength:"1000"`
},
) (*done, error) {
	return &done{}, s.Classes.SetDeadline(ctx, a, school.Deadline{Class: in.Class, Assignment: in.Assignment, User: in.User, Reason: in.Reason})
}
