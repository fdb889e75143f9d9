package staff

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/classes/portable"
	"drover/web/page"
)

func (s *staff) invitationRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/invitations", Action: core.ActInvite, Serve: s.invitations},
		{Pattern: "POST /classes/{class}/invitations", Action: core.ActInvite, Serve: s.invite},
	}
}

// inviteDays is for how many days an invitation is good unless the form says otherwise.
const inviteDays = int(account.InviteLife / (24 * time.Hour))

// invitationsPage lists the students of a class with their invitations.
type invitationsPage struct {
	Class    classes.ClassEntry
	Students []account.Invitee
	Open     bool // somebody on the page can be invited
	Next     string
	Days     string // as typed
	Most     int    // days
	Chosen   map[string]bool
	Wrong    string // with the days
	Mail     bool   // the site sends mail
}

func (s *staff) invitations(r *page.Request) error {
	p, err := s.invitationsOf(r, r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	return r.Render("staff/invitations", p)
}

func (s *staff) invitationsOf(r *page.Request, after string) (*invitationsPage, error) {
	p := &invitationsPage{Days: strconv.Itoa(inviteDays), Most: int(account.MaxInviteLife / (24 * time.Hour)), Chosen: map[string]bool{}, Mail: s.Accounts.CanMail()}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return nil, err
	}
	next := ""
	if p.Students, next, err = s.Accounts.Invitations(r.Context(), r.Actor(), p.Class.Handle, after, rosterRows); err != nil {
		return nil, err
	}
	if next != "" {
		p.Next = "?" + url.Values{"after": {next}}.Encode()
	}
	for i := range p.Students {
		p.Open = p.Open || p.Students[i].State.Open()
	}
	return p, nil
}

// invite makes invitations and shows them, or withdraws some.
func (s *staff) invite(r *page.Request) error {
	f, err := typed(r)
	if err != nil {
		return err
	}
	p, err := s.invitationsOf(r, f.line("after"))
	if err != nil {
		return err
	}
	chosen := f.Typed["student"]
	for _, user := range chosen {
		p.Chosen[user] = true
	}
	if p.Days = f.line("days"); p.Days == "" {
		p.Days = strconv.Itoa(inviteDays)
	}
	all := f.line("do") == "all" || f.line("do") == "mail-all"
	if !all && len(chosen) == 0 {
		f.wrong(r.T("Tick whom you mean."))
		return r.Again(f.err, "staff/invitations", p)
	}
	if f.line("do") == "withdraw" {
		n, err := s.Accounts.Withdraw(r.Context(), r.Actor(), p.Class.Handle, chosen)
		if err != nil {
			return r.Again(mendable(err), "staff/invitations", p)
		}
		return r.Redirect(classPath(p.Class.Handle)+"/invitations", r.N(n, "%d invitation is withdrawn.", "%d invitations are withdrawn."))
	}
	days, err := strconv.Atoi(p.Days)
	if err != nil || days < 1 || days > p.Most {
		p.Wrong = r.T("Write a number of days from 1 to %d.", p.Most)
		f.wrong(p.Wrong)
		return r.Again(f.err, "staff/invitations", p)
	}
	of := account.Invites{Class: p.Class.Handle, Life: time.Duration(days) * 24 * time.Hour}
	if !all {
		of.Users = chosen
	}
	if strings.HasPrefix(f.line("do"), "mail-") {
		return s.mailInvitations(r, p, of)
	}
	made, err := s.Accounts.Invite(r.Context(), r.Actor(), of)
	switch {
	case err != nil:
		return r.Again(mendable(err), "staff/invitations", p)
	case len(made.Links) == 0:
		return r.Redirect(classPath(p.Class.Handle)+"/invitations", r.T("Everybody who never signed in has an invitation already."))
	}
	return s.invited(r, p.Class, made)
}

// mailInvitations has invitations mailed, and shows how far that is.
func (s *staff) mailInvitations(r *page.Request, p *invitationsPage, of account.Invites) error {
	of.Language = r.Tag.String()
	t, err := s.Accounts.MailInvitations(r.Context(), r.Actor(), of, s.URL)
	if err != nil {
		return r.Again(mendable(err), "staff/invitations", p)
	}
	return r.Redirect(taskPath(t.ID), r.T("The invitations are being mailed."))
}

// invitedPage is the sheet of invitations: the only answer that has their links, which are in no session.
type invitedPage struct {
	Class   classes.ClassEntry
	Site    string // its name
	Cards   []inviteCard
	Expires int64
	More    bool // students without an invitation are left
	CSV     template.URL
}

// inviteCard is what one student is given.
type inviteCard struct {
	account.Link
	Code picture // of the link
}

func (s *staff) invited(r *page.Request, class classes.ClassEntry, made account.Invited) error {
	p := invitedPage{Class: class, Site: s.Name, More: made.More}
	for _, l := range made.Links {
		l = l.At(s.URL)
		code, err := qrCode(l.URL)
		if err != nil {
			return err
		}
		p.Cards, p.Expires = append(p.Cards, inviteCard{l, code}), l.Expires
	}
	var err error
	if p.CSV, err = linksFile(p.Cards); err != nil {
		return err
	}
	return r.Render("staff/invited", p)
}

// linksFile returns the links as a CSV file within a URL: a second answer would need them to be kept.
func linksFile(cards []inviteCard) (template.URL, error) {
	var file bytes.Buffer
	out := csv.NewWriter(&file)
	_ = out.Write([]string{"name", "email", "handle", "link", "expires"}) // Error below has it
	for _, c := range cards {
		expires := time.UnixMilli(c.Expires).UTC().Format(time.RFC3339)
		_ = out.Write([]string{portable.Cell(c.Name), portable.Cell(c.Email), c.User, c.URL, expires})
	}
	out.Flush()
	text := "data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(file.Bytes())
	return template.URL(text), out.Error() //nolint:gosec // base64 has no special character
}
