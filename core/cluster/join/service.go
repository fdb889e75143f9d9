// Package join lets machines become hosts of the cluster: operators and the overseer make a token, and a machine gets
// for it, once, what a host needs to know.
//
// A token is one record of the result store. Each use of it is a new revision of that record, so of several machines
// that use the last one at once, one wins. A machine that crashed between its answer and its disk asks again with the
// key that it made up and wrote down first, and gets the same answer at no further use.
//
//	crash of the site after        the machine then
//	the use is recorded            asks again by its key: the same answer
//	the labels are set             asks again: they are set again
//	the answer is lost             asks again: the same answer
package join

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/auditlog"
	"drover/core/account/secrets"
)

// Service makes tokens and redeems them. The fields are set once; all methods are safe for concurrent use, by several
// processes as well.
type Service struct {
	Store    Store
	Hosts    func(ctx context.Context) ([]core.HostInfo, error)  // those that Redis knows
	Groups   func(ctx context.Context) ([]core.HostGroup, error) // all
	Limits   core.Limiter
	Settings func() (Settings, error) // what hosts get; nil: nothing is handed out here
	Now      func() time.Time         // nil: time.Now
}

// Store is what a Service needs of the result store.
type Store interface {
	core.JoinTokens
	core.HostWishes

	AddAuditEntry(ctx context.Context, d core.AuditEntry) error
}

// Settings are what a host needs to know.
type Settings struct {
	Values  map[string]string `json:"values"`            // by the names of settings
	Secrets map[string]string `json:"secrets,omitempty"` // the contents of files, by the names of the settings that name the files
}

// Wish is the token that is asked for.
type Wish struct {
	Host  string        // the name of the host that joins by it; "": each machine's own
	Group string        // the host group whose labels the hosts get; "" for none
	Uses  int           // most hosts; 0 is 1
	Life  time.Duration // at most core.MaxJoinLife; 0 is core.JoinLife
}

// Issue makes a token. The secret is returned only here. Returns FORBIDDEN, INVALID, NOTFOUND for an unknown group,
// LIMIT.
func (s *Service) Issue(ctx context.Context, a core.Actor, w Wish) (secret string, t core.JoinToken, err error) {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return "", core.JoinToken{}, err
	}
	now := s.now()
	secret = secrets.New(secrets.Join)
	hash := secrets.Hash(secret)
	t = core.JoinToken{
		ID: idOf(hash), Hash: hash, By: a.Handle, Host: w.Host, Group: w.Group, Uses: cmp.Or(w.Uses, 1),
		Created: now.UnixMilli(), Expires: now.Add(cmp.Or(w.Life, core.JoinLife)).UnixMilli(),
	}
	if err := t.Check(); err != nil {
		return "", core.JoinToken{}, err
	}
	if _, err := s.group(ctx, t.Group); err != nil {
		return "", core.JoinToken{}, err
	}
	text := fmt.Sprintf("makes join token %s for %s until %s", t.ID, whom(t), time.UnixMilli(t.Expires).UTC().Format(time.RFC3339))
	err = s.log(ctx, a, t.ID, text, func() error {
		if err := s.purge(ctx, now); err != nil {
			return err
		}
		t.Revision, err = s.Store.PutJoinToken(ctx, t)
		return err
	})
	if err != nil {
		return "", core.JoinToken{}, err
	}
	return secret, t, nil
}

// whom says which hosts a token is for.
func whom(t core.JoinToken) string {
	text := "host " + t.Host
	if t.Host == "" {
		text = fmt.Sprintf("%d hosts", t.Uses)
	}
	if t.Group != "" {
		text += " of group " + t.Group
	}
	return text
}

// keepExpired is how long an expired token is remembered, so that a machine that comes late learns why it is refused.
const keepExpired = time.Hour

// purge removes tokens that expired long ago.
func (s *Service) purge(ctx context.Context, now time.Time) error {
	all, err := s.Store.JoinTokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Expires > now.Add(-keepExpired).UnixMilli() {
			continue
		}
		if err := s.Store.DeleteJoinToken(ctx, t.ID); err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	return nil
}

// Tokens lists the tokens that are remembered, newest first, without their hashes and keys. Returns FORBIDDEN.
func (s *Service) Tokens(ctx context.Context, a core.Actor) ([]core.JoinToken, error) {
	if err := core.Allow(a, core.ActClusterView, core.Object{}); err != nil {
		return nil, err
	}
	all, err := s.Store.JoinTokens(ctx)
	slices.SortStableFunc(all, func(x, y core.JoinToken) int { return cmp.Compare(y.Created, x.Created) })
	for i := range all {
		all[i] = Shown(all[i])
	}
	return all, err
}

// Shown is a token as people may see it.
func Shown(t core.JoinToken) core.JoinToken {
	t.Hash = ""
	t.Joined = slices.Clone(t.Joined)
	for i := range t.Joined {
		t.Joined[i].Key = ""
	}
	return t
}

// Revoke ends a token; hosts that joined by it stay. Returns FORBIDDEN, NOTFOUND.
func (s *Service) Revoke(ctx context.Context, a core.Actor, id string) error {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return err
	}
	if err := core.CheckName("join token", id); err != nil {
		return err
	}
	return s.log(ctx, a, id, "revokes join token "+id, func() error { return s.Store.DeleteJoinToken(ctx, id) })
}

func (s *Service) log(ctx context.Context, a core.Actor, subject, text string, do func() error) error {
	entry := core.AuditEntry{Action: core.ActClusterOperate, Subject: subject, Text: text}
	return auditlog.Log{Store: s.Store, Now: s.now}.Do(ctx, a, entry, do)
}

// group returns a host group; an empty one for "".
func (s *Service) group(ctx context.Context, name string) (core.HostGroup, error) {
	if name == "" {
		return core.HostGroup{}, nil
	}
	all, err := s.Groups(ctx)
	if err != nil {
		return core.HostGroup{}, err
	}
	i := slices.IndexFunc(all, func(g core.HostGroup) bool { return g.Name == name })
	if i < 0 {
		return core.HostGroup{}, core.Errorf(core.CodeNotFound, name, "there is no host group %.80q", name)
	}
	return all[i], nil
}

func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// idOf returns the id of the token of a hash.
func idOf(hash string) string {
	const digits = 16 // 64 bits: two of 2000 tokens are the same once in 10^13 times
	return hash[:digits]
}

// same compares two hashes in a time that does not depend on where they differ.
func same(x, y string) bool { return subtle.ConstantTimeCompare([]byte(x), []byte(y)) == 1 }

// labels reads a group's labels.
func labels(g core.HostGroup) (map[string]string, error) {
	if strings.TrimSpace(g.Labels) == "" {
		return nil, nil
	}
	return core.ParseLabels(g.Labels)
}
