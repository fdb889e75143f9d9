package join

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"drover/core"
	"drover/core/account/secrets"
)

// perAddress is how often machines of an address may ask. A whole rack may be behind one.
var perAddress = core.Rate{Every: time.Second, Burst: 100}

// minKey is the least length of a machine's key: shorter ones could be guessed.
const minKey, maxKey = 32, 128

// Ask is what a machine says that wants to become a host.
type Ask struct {
	Token   string
	Host    string // how it is to be called; "" to leave it to the token
	Machine string // how it is called if the token does not say it either
	Key     string // what only it knows, so that it may ask again after a crash
	Address string // where it asks from
}

// Grant is what the machine gets.
type Grant struct {
	Host     string    `json:"host"`
	Group    string    `json:"group,omitempty"`
	Settings Settings  `json:"settings"`
	Now      time.Time `json:"now"` // by the site's clock
}

// Redeem makes a machine a host of the cluster: it uses up one use of its token, sets the labels of its group, and
// returns the settings. A machine that asks again by the same key gets the same answer. Returns FORBIDDEN for a token
// that is not valid, CONFLICT for a name that another host has, INVALID, FULL, UNAVAILABLE.
func (s *Service) Redeem(ctx context.Context, ask Ask) (Grant, error) {
	if err := s.mayTry(ctx, ask.Address); err != nil {
		return Grant{}, err
	}
	t, err := s.find(ctx, ask)
	if err != nil {
		return Grant{}, err
	}
	if s.Settings == nil {
		return Grant{}, core.Errorf(core.CodeConflict, "host_config", "this site hands out no settings for hosts: who runs it names a file of them by the setting host_config")
	}
	settings, err := s.Settings() // before anything is used up
	if err != nil {
		return Grant{}, err
	}
	host, err := s.admit(ctx, t, ask)
	if err != nil {
		return Grant{}, err
	}
	if err := s.label(ctx, t, host); err != nil {
		return Grant{}, err
	}
	return Grant{Host: host, Group: t.Group, Settings: settings, Now: s.now()}, nil
}

// mayTry returns FULL if there were too many tries from an address lately.
func (s *Service) mayTry(ctx context.Context, address string) error {
	at, err := s.Limits.Take(ctx, "join-address:"+address, perAddress, 1)
	if err == nil && !at.Allowed {
		err = core.Errorf(core.CodeFull, "", "too many machines asked to join from this address: try again in %s", at.Retry.Truncate(time.Second)+time.Second)
	}
	return err
}

// find returns the token of a secret that is valid now.
func (s *Service) find(ctx context.Context, ask Ask) (core.JoinToken, error) {
	invalid := core.Errorf(core.CodeForbidden, "token", "the join token is not valid: it was revoked, or is not whole; make another one")
	if !secrets.WellFormed(secrets.Join, ask.Token) {
		return core.JoinToken{}, invalid
	}
	if len(ask.Key) < minKey || len(ask.Key) > maxKey {
		return core.JoinToken{}, core.Errorf(core.CodeInvalid, "key", "a machine's key has %d to %d characters, not %d", minKey, maxKey, len(ask.Key))
	}
	hash := secrets.Hash(ask.Token)
	t, err := s.Store.GetJoinToken(ctx, idOf(hash))
	if core.Is(err, core.CodeNotFound) || err == nil && !same(t.Hash, hash) {
		return core.JoinToken{}, invalid
	}
	if now := s.now(); err == nil && t.Expires <= now.UnixMilli() {
		err = core.Errorf(core.CodeForbidden, "token", "the join token expired at %s, and here it is %s: make another one",
			time.UnixMilli(t.Expires).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return t, err
}

// admit records that a machine joined, and returns its name.
func (s *Service) admit(ctx context.Context, t core.JoinToken, ask Ask) (string, error) {
	key := secrets.Hash(ask.Key)
	for {
		for _, one := range t.Joined {
			if same(one.Key, key) {
				return one.Host, nil
			}
		}
		if len(t.Joined) >= t.Uses {
			return "", core.Errorf(core.CodeForbidden, "token", "the join token was used by all %d hosts that it is for: make another one", t.Uses)
		}
		host := cmp.Or(t.Host, ask.Host, ask.Machine)
		if t.Host != "" && ask.Host != "" && ask.Host != t.Host {
			return "", core.Errorf(core.CodeForbidden, "host", "the join token is for host %s, not for %.80q", t.Host, ask.Host)
		}
		if err := s.free(ctx, t, host); err != nil {
			return "", err
		}
		used := t
		used.Joined = append(append([]core.Joined{}, t.Joined...), core.Joined{Host: host, Key: key, At: s.now().UnixMilli()})
		if err := used.Check(); err != nil {
			return "", err
		}
		text := fmt.Sprintf("joins by token %s of %s, from %.80s", t.ID, t.By, cmp.Or(ask.Address, "an unknown address"))
		err := s.log(ctx, core.Actor{Handle: host}, host, text, func() error {
			_, err := s.Store.PutJoinToken(ctx, used)
			return err
		})
		if !core.Is(err, core.CodeConflict) {
			return host, err
		}
		if t, err = s.find(ctx, ask); err != nil { // another machine was faster
			return "", err
		}
	}
}

// free returns CONFLICT if a host has the name already.
func (s *Service) free(ctx context.Context, t core.JoinToken, host string) error {
	if err := core.CheckName("host", host); err != nil {
		return err
	}
	for _, one := range t.Joined {
		if one.Host == host {
			return core.Errorf(core.CodeConflict, "host", "another machine joined as host %s by the same token: give this one another name", host)
		}
	}
	all, err := s.Hosts(ctx)
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.Name == host && h.State != core.HostDown {
			return core.Errorf(core.CodeConflict, "host", "the cluster has a host %s already: give this one another name, or stop that one", host)
		}
	}
	return nil
}

// label sets the labels of a host that joined by a group's token. Other settings of the host stay.
func (s *Service) label(ctx context.Context, t core.JoinToken, host string) error {
	g, err := s.group(ctx, t.Group)
	if core.Is(err, core.CodeNotFound) {
		return nil // it was removed since: the host is one like any other
	}
	if err != nil {
		return err
	}
	own, err := labels(g)
	if err != nil || len(own) == 0 {
		return err
	}
	its, err := s.Store.HostWishes(ctx, host)
	if err != nil {
		return err
	}
	w, _ := core.FindWish(its, core.WishSettings)
	settings := core.HostSettings{}
	if w.Settings != nil && !w.Lifted {
		settings = *w.Settings
	}
	all := maps.Clone(settings.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, own)
	if maps.Equal(all, settings.Labels) {
		return nil
	}
	settings.Labels = all
	next := core.HostWish{Host: host, Kind: core.WishSettings, By: t.By, At: w.After(s.now()), Settings: &settings}
	if err := next.Check(); err != nil {
		return err
	}
	_, err = s.Store.PutHostWish(ctx, next)
	return err
}
