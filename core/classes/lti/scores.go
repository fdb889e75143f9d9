package lti

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// Times and bounds of a round, in which scores are sent.
const (
	roundEvery = 30 * time.Second
	mostSent   = 500 // of one link in one round; the next round sends more
	keepEvery  = 25  // what the platform took is kept after so many
	mostRefuse = 5   // after so many refusals in a row the rest waits
	mostPause  = time.Hour
)

// failure says when a link is tried again.
type failure struct {
	times int
	until time.Time
}

// Round sends what platforms do not have yet of the scores that count, to the columns of links in their gradebooks.
// It compares what counts with what a platform took: a score that a crash kept from being sent differs still, and is
// sent by the next round; one that was sent but not noted is sent again, with the same value. At most one site begins a
// round every half minute. Returns how many were sent, and what failed.
func (s *Service) Round(ctx context.Context) (int, error) {
	got, err := s.Limits.Take(ctx, "lti-scores:round", core.Rate{Every: roundEvery * 9 / 10, Burst: 1}, 1)
	if err != nil || !got.Allowed {
		return 0, err
	}
	links, err := all(ctx, s.Store, school.LTILinks, "", func(l *school.LTILink, r school.LTIRecord) { l.Revision = r.Revision })
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(links, func(a, b school.LTILink) int { return strings.Compare(a.Class, b.Class) })
	r := round{Service: s}
	sent := 0
	for i := range links {
		l := &links[i]
		if l.LineItem == "" || s.pauses(l.ID()) {
			continue
		}
		n, failed := r.send(ctx, l)
		sent += n
		s.note(l.ID(), failed)
		if failed != nil {
			err = errors.Join(err, core.Wrap(failed, core.CodeOf(failed), l.Class, "scores of %s/%s cannot be sent to platform %s", l.Class, l.Assignment, l.Platform))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return sent, err
}

// pauses reports whether a link waits after failures.
func (s *Service) pauses(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Before(s.failed[id].until)
}

// note notes how a link fared: after failures in a row it waits longer and longer.
func (s *Service) note(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed, id)
		return
	}
	if s.failed == nil {
		s.failed = map[string]failure{}
	}
	f := s.failed[id]
	f.times = min(f.times+1, 10)
	f.until = s.now().Add(min(roundEvery<<f.times, mostPause))
	s.failed[id] = f
}

// round is one round. It keeps what it read of a class for the next link of it.
type round struct {
	*Service

	class   string
	members []school.LTIMember
	counted map[string]map[string]*school.Counted
}

// read reads what counts in a class, of those who came from platforms.
func (r *round) read(ctx context.Context, class string) error {
	if r.class == class {
		return nil
	}
	r.class, r.counted = "", map[string]map[string]*school.Counted{}
	var err error
	if r.members, err = all(ctx, r.Store, school.LTIMembers, class, func(*school.LTIMember, school.LTIRecord) {}); err != nil {
		return err
	}
	term, err := school.ReadTerm(ctx, r.Store, class, "")
	if err != nil {
		return err
	}
	for some := range slices.Chunk(r.members, school.MaxKeys) {
		users := make([]string, len(some))
		for i := range some {
			users[i] = some[i].User
		}
		slices.Sort(users)
		counted, err := term.Count(ctx, r.Store, slices.Compact(users))
		if err != nil {
			return err
		}
		for user, its := range counted {
			r.counted[user] = its
		}
	}
	r.class = class
	return nil
}

// send sends what the platform does not have of one link.
func (r *round) send(ctx context.Context, l *school.LTILink) (int, error) {
	p, err := r.platform(ctx, l.Platform)
	if core.Is(err, core.CodeNotFound) || err == nil && p.TokenURL == "" {
		return 0, nil // it was removed, or has no gradebook
	}
	if err != nil {
		return 0, err
	}
	if err := r.read(ctx, l.Class); err != nil {
		return 0, err
	}
	has, revision, err := r.sent(ctx, l)
	if err != nil {
		return 0, err
	}
	record := school.LTIRecord{Kind: school.LTISents, ID: l.ID(), Class: l.Class, Revision: revision}
	keep := func() error {
		record.Revision, err = put(ctx, r.Store, record, has)
		return err
	}
	sent, refused, kept := 0, 0, has.Failed == ""
	var failed error
	for i := range r.members {
		m := &r.members[i]
		next, due := r.due(m, l, has.Scores[m.Subject])
		if !due {
			continue
		}
		if err := r.post(ctx, &p, l.LineItem, m.Subject, next); err != nil {
			failed = err
			if refused++; refused == mostRefuse {
				break
			}
			continue
		}
		has.Scores[m.Subject], refused, kept = next, 0, false
		if sent++; sent%keepEvery == 0 {
			if err := keep(); err != nil {
				return sent, err
			}
			kept = true
		}
		if sent == mostSent {
			break
		}
	}
	was := has.Failed
	if has.Failed, has.FailedAt = "", 0; failed != nil {
		has.Failed, has.FailedAt = failed.Error(), r.now().UnixMilli()
	}
	if !kept || has.Failed != was || failed != nil {
		if err := keep(); err != nil {
			return sent, err
		}
	}
	return sent, failed
}

// sent returns what the platform has of a link.
func (s *Service) sent(ctx context.Context, l *school.LTILink) (school.LTISent, int64, error) {
	has, revision, err := get[school.LTISent](ctx, s.Store, school.LTISents, l.ID())
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return has, 0, err
	}
	if has.LineItem != l.LineItem || has.Scores == nil {
		has = school.LTISent{LineItem: l.LineItem, Scores: map[string]school.LTIScore{}}
	}
	return has, revision, nil
}

// due returns the score of a member for a link, if the platform has another. Members of other courses have none.
func (r *round) due(m *school.LTIMember, l *school.LTILink, has school.LTIScore) (school.LTIScore, bool) {
	if m.Platform != l.Platform || m.Context != l.Context {
		return school.LTIScore{}, false
	}
	next := school.LTIScore{At: max(r.now().UnixMilli(), has.At+1)}
	c := r.counted[m.User][l.Assignment]
	if c == nil && has.At == 0 {
		return next, false // nothing was submitted
	}
	if c != nil && c.Final != nil && c.MaxScore != nil && *c.MaxScore > 0 {
		given := max(0, *c.Final) // no platform takes less
		next.Score, next.Most = &given, c.MaxScore
	}
	return next, has.At == 0 || !next.Same(has)
}

// post sends one score. Returns UNAVAILABLE.
func (s *Service) post(ctx context.Context, p *school.LTIPlatform, lineItem, subject string, score school.LTIScore) error {
	token, err := s.token(ctx, p, scopeScore)
	if err != nil {
		return err
	}
	body := map[string]any{
		"userId": subject, "timestamp": time.UnixMilli(score.At).UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		"activityProgress": "Submitted", "gradingProgress": "Pending",
	}
	if score.Score != nil {
		body["scoreGiven"], body["scoreMaximum"] = *score.Score, *score.Most
		body["activityProgress"], body["gradingProgress"] = "Completed", "FullyGraded"
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, p.ID, "a score cannot be written")
	}
	u, err := url.Parse(lineItem)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, p.ID, "the address of scores cannot be read")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/scores"
	u.RawPath = ""
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(raw))
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, p.ID, "the address of scores cannot be asked")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/vnd.ims.lis.v1.score+json")
	if _, err = s.ask(r); err != nil {
		s.forget(p, scopeScore) // it may have been revoked
	}
	return err
}
