package lti

import (
	"context"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// Sending is how far the scores of a link have come to the platform's gradebook.
type Sending struct {
	ID       string // of the link
	Link     school.LTILink
	Title    string // of the platform; "" if it was removed
	Column   bool   // it has one in the gradebook, and the platform takes scores
	Sent     int    // people whose score the platform has
	Waiting  int    // people whose score it does not have yet, or has another of
	Last     int64  // when a score was sent last; 0: never
	Failed   string // why the last try failed; "": it did not
	FailedAt int64
	Rows     []SendingRow // of an assignment's sendings
}

// SendingRow is how far the score of one person has come.
type SendingRow struct {
	User    string
	Has     school.LTIScore // what the platform has; At 0: nothing
	Next    school.LTIScore // what it is to get
	Waiting bool
}

// Sendings returns how far the scores of a class have come, by link, of one assignment with a row for each person, or of
// all for "". Returns NOTFOUND, FORBIDDEN.
func (s *Service) Sendings(ctx context.Context, a core.Actor, class, assignment string) ([]Sending, error) {
	if err := s.mayView(ctx, a, class); err != nil {
		return nil, err
	}
	links, err := all(ctx, s.Store, school.LTILinks, class, func(l *school.LTILink, r school.LTIRecord) { l.Revision = r.Revision })
	if err != nil {
		return nil, err
	}
	links = slices.DeleteFunc(links, func(l school.LTILink) bool { return assignment != "" && l.Assignment != assignment })
	if len(links) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(links, func(a, b school.LTILink) int { return strings.Compare(a.Assignment, b.Assignment) })
	known, err := s.platforms(ctx)
	if err != nil {
		return nil, err
	}
	r := round{Service: s}
	if err := r.read(ctx, class); err != nil {
		return nil, err
	}
	found := make([]Sending, len(links))
	for i := range links {
		d := &found[i]
		d.ID, d.Link = links[i].ID(), links[i]
		for k := range known {
			if known[k].ID == d.Link.Platform {
				d.Title, d.Column = known[k].Name, d.Link.LineItem != "" && known[k].TokenURL != ""
			}
		}
		if d.Column {
			if err := r.tell(ctx, d, assignment != ""); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// tell fills in how far the scores of a link have come.
func (r *round) tell(ctx context.Context, d *Sending, rows bool) error {
	has, _, err := r.sent(ctx, &d.Link)
	if err != nil {
		return err
	}
	d.Failed, d.FailedAt = has.Failed, has.FailedAt
	for i := range r.members {
		m := &r.members[i]
		score := has.Scores[m.Subject]
		next, due := r.due(m, &d.Link, score)
		if due {
			d.Waiting++
		}
		if score.At > 0 {
			d.Sent++
			d.Last = max(d.Last, score.At)
		}
		if rows && (due || score.At > 0) {
			d.Rows = append(d.Rows, SendingRow{User: m.User, Has: score, Next: next, Waiting: due})
		}
	}
	slices.SortFunc(d.Rows, func(a, b SendingRow) int { return strings.Compare(a.User, b.User) })
	return nil
}

// resending bounds how often somebody has a link's scores sent.
var resending = core.Rate{Every: 5 * time.Second, Burst: 5}

// resendTime is how long somebody waits for it.
const resendTime = 20 * time.Second

// Resend sends at once what the platform does not have of a link, by its id. Returns how many were sent, NOTFOUND,
// FORBIDDEN, LIMIT, UNAVAILABLE.
func (s *Service) Resend(ctx context.Context, a core.Actor, class, link string) (int, error) {
	if err := s.mayView(ctx, a, class); err != nil {
		return 0, err
	}
	if err := core.Allow(a, core.ActGradeChange, core.Object{Class: class}); err != nil {
		return 0, err
	}
	l, revision, err := get[school.LTILink](ctx, s.Store, school.LTILinks, link)
	if core.Is(err, core.CodeNotFound) || err == nil && (l.Class != class || l.LineItem == "") {
		return 0, core.Errorf(core.CodeNotFound, class, "class %s has no such link with a column", class)
	}
	if err != nil {
		return 0, err
	}
	l.Revision = revision
	got, err := s.Limits.Take(ctx, "lti-scores:"+link, resending, 1)
	if err == nil && !got.Allowed {
		err = core.Errorf(core.CodeLimit, class, "the scores were sent often just now: wait a moment")
	}
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, resendTime)
	defer cancel()
	r := round{Service: s}
	n, err := r.send(ctx, &l)
	s.note(l.ID(), err)
	return n, err
}
