package lti

import (
	"context"
	"crypto/subtle"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

// Tie ties the identity of a launch to the actor, who has signed in here by other means, in the browser that launched:
// somebody else's link would tie somebody else's identity. The launch is then repeated. Returns FORBIDDEN, CONFLICT.
func (s *Service) Tie(ctx context.Context, a core.Actor, sealed, cookie string) (account.SignedIn, error) {
	d, p, err := s.Pending(ctx, a, sealed)
	if err != nil {
		return account.SignedIn{}, err
	}
	if cookie == "" || subtle.ConstantTimeCompare([]byte(hashed(cookie)), []byte(d.Browser)) != 1 {
		return account.SignedIn{}, expired()
	}
	return s.Accounts.TieIdentity(ctx, a, identity(&p), d.Subject)
}

// Connect connects a course with a class that the actor teaches. Returns where to go, FORBIDDEN, NOTFOUND, and CONFLICT
// if the course is connected with another class.
func (s *Service) Connect(ctx context.Context, a core.Actor, sealed, class string) (string, error) {
	d, p, a, err := s.decider(ctx, a, sealed)
	if err != nil {
		return "", err
	}
	if d.Role != core.RoleTeacher {
		return "", forbidden("only a teacher of the course may connect it")
	}
	if _, err := s.Classes.ViewClass(ctx, a, class); err != nil {
		return "", err
	}
	if err := core.Allow(a, core.ActClassEdit, core.Object{Class: class}); err != nil {
		return "", err
	}
	return s.connect(ctx, a, d, p, class)
}

func (s *Service) connect(ctx context.Context, a core.Actor, d Pending, p school.LTIPlatform, class string) (string, error) {
	c := school.LTICourse{
		Platform: p.ID, Deployment: d.Deployment, Context: d.Context, Title: d.Title, Class: class, By: a.Handle, At: s.now().UnixMilli(),
		Members: d.Members,
	}
	err := s.change(ctx, a, class, class, "connects class "+class+" with course "+d.Title+" ("+d.Context+") of learning platform "+p.ID, func() error { return s.putCourse(ctx, c) })
	if core.Is(err, core.CodeConflict) {
		have, missing := s.course(ctx, p.ID, d.Deployment, d.Context)
		if missing == nil && have.Class == class {
			err = nil
		} else {
			err = core.Errorf(core.CodeConflict, class, "the course has just been connected with a class by somebody else: open it on the learning platform again")
		}
	}
	if err != nil {
		return "", err
	}
	return s.destination(ctx, class, d.launch(p), a.Handle)
}

func (d *Pending) launch(p school.LTIPlatform) *Launch {
	return &Launch{
		Platform: p, Subject: d.Subject, Role: d.Role, Deployment: d.Deployment, Context: d.Context, Title: d.Title, Link: d.Link, LinkTitle: d.LinkTitle,
		LineItem: d.LineItem, Deep: d.Deep, Framed: d.Framed, Browser: d.Browser,
	}
}

// ConnectNew makes a class of which the actor is the teacher, and connects the course with it, where the platform's
// teachers may make classes. Returns FORBIDDEN, INVALID, CONFLICT.
func (s *Service) ConnectNew(ctx context.Context, a core.Actor, sealed string, c school.Class) (string, error) {
	d, p, a, err := s.decider(ctx, a, sealed)
	if err != nil {
		return "", err
	}
	if d.Role != core.RoleTeacher || !p.NewClasses {
		return "", forbidden("teachers of this learning platform may not make classes here: ask an admin for one")
	}
	if _, err := s.course(ctx, p.ID, d.Deployment, d.Context); err == nil {
		return "", core.Errorf(core.CodeConflict, c.Handle, "the course is connected with a class already: open it on the learning platform again")
	}
	if _, err := s.Classes.CreateClass(ctx, core.System(), c); err != nil {
		return "", err
	}
	if err := s.Classes.Enrol(ctx, core.System(), c.Handle, a.Handle, core.RoleTeacher); err != nil {
		return "", err
	}
	return s.connect(ctx, a, d, p, c.Handle)
}

// Lead has a link lead to an assignment of its course's class. Returns where to go, FORBIDDEN, NOTFOUND.
func (s *Service) Lead(ctx context.Context, a core.Actor, sealed, assignment string) (string, error) {
	d, p, err := s.Pending(ctx, a, sealed)
	if err != nil {
		return "", err
	}
	c, err := s.course(ctx, p.ID, d.Deployment, d.Context)
	if err != nil {
		return "", err
	}
	if err := core.Allow(a, core.ActAssignmentEdit, core.Object{Class: c.Class}); err != nil {
		return "", err
	}
	if _, err := s.Classes.ViewAssignment(ctx, a, c.Class, assignment); err != nil {
		return "", err
	}
	l := school.LTILink{
		Platform: p.ID, Deployment: d.Deployment, Context: d.Context, Link: d.Link, Class: c.Class, Assignment: assignment, LineItem: d.LineItem, At: s.now().UnixMilli(),
	}
	if have, err := s.link(ctx, l); err == nil {
		l.Revision = have.Revision
	}
	err = s.change(ctx, a, c.Class, assignment, "has link "+d.LinkTitle+" ("+d.Link+") of learning platform "+p.ID+" lead to "+c.Class+"/"+assignment, func() error {
		return s.putLink(ctx, l)
	})
	return "/classes/" + c.Class + "/assignments/" + assignment, err
}

// Course returns the class with which a pending decision's course is connected. Returns NOTFOUND.
func (s *Service) Course(ctx context.Context, d Pending) (school.LTICourse, error) {
	return s.course(ctx, d.Platform, d.Deployment, d.Context)
}
