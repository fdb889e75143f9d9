package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/school"
	"drover/core/service/clock"
)

// siteUsers is how many users take turns at asking the site: it serves each of them a number of calls a second.
const siteUsers = 32

// Times of the start of a site.
const (
	siteTimeout = 30 * time.Second
	sitePause   = 20 * time.Millisecond
)

// throughSite starts a site and signs in as users of it.
func (o *ownCluster) throughSite(ctx context.Context, s *access.Session, fail context.CancelCauseFunc) ([]access.Backend, error) {
	accounts, err := o.cluster.Accounts()
	if err != nil {
		return nil, err
	}
	if err := o.start(partSite, fail); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var notes bytes.Buffer // that there is no site yet
	at, err := o.cluster.SiteOfCluster(ctx, &notes)
	for ; err == nil && notes.Len() > 0; at, err = o.cluster.SiteOfCluster(ctx, &notes) {
		notes.Reset()
		if err := clock.Sleep(ctx, clock.Real{}, sitePause); err != nil {
			return nil, core.Wrap(err, core.CodeUnavailable, "", "the site did not start within %s", siteTimeout)
		}
	}
	if err != nil {
		return nil, err
	}
	var all []access.Backend
	for i := range siteUsers {
		u, err := s.Reg.CreateUser(ctx, s.Actor, school.User{Handle: fmt.Sprintf("bench%d", i), Roles: []core.UserRole{core.RoleRunner}})
		if err != nil {
			return nil, err
		}
		secret, _, err := accounts.IssueToken(ctx, core.Actor{Handle: u.Handle, Roles: u.Roles}, "bench", []school.Scope{school.ScopeRead, school.ScopeSubmit}, 0)
		if err != nil {
			return nil, err
		}
		d, err := access.SiteAt(at.String(), secret)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}
