package lti

import (
	"context"
	"strings"

	"drover/core"
	"drover/core/school"
)

// MaxPlatforms bounds the platforms of a site.
const MaxPlatforms = 200

func mayManage(a core.Actor) error { return core.Allow(a, core.ActUserManage, core.Object{}) }

// Platforms lists all platforms. Returns FORBIDDEN.
func (s *Service) Platforms(ctx context.Context, a core.Actor) ([]school.LTIPlatform, error) {
	if err := mayManage(a); err != nil {
		return nil, err
	}
	return s.platforms(ctx)
}

func (s *Service) platforms(ctx context.Context) ([]school.LTIPlatform, error) {
	return all(ctx, s.Store, school.LTIPlatforms, "", func(p *school.LTIPlatform, r school.LTIRecord) { p.Revision = r.Revision })
}

// Platform returns one platform. Returns FORBIDDEN, NOTFOUND.
func (s *Service) Platform(ctx context.Context, a core.Actor, id string) (school.LTIPlatform, error) {
	if err := mayManage(a); err != nil {
		return school.LTIPlatform{}, err
	}
	return s.platform(ctx, id)
}

func (s *Service) platform(ctx context.Context, id string) (school.LTIPlatform, error) {
	p, revision, err := get[school.LTIPlatform](ctx, s.Store, school.LTIPlatforms, id)
	p.Revision = revision
	if core.Is(err, core.CodeNotFound) {
		err = core.Errorf(core.CodeNotFound, id, "there is no platform %.80q", id)
	}
	return p, err
}

// PutPlatform adds a platform of revision 0, or changes one that still has its revision. Returns FORBIDDEN, INVALID,
// LIMIT, CONFLICT.
func (s *Service) PutPlatform(ctx context.Context, a core.Actor, p school.LTIPlatform) (school.LTIPlatform, error) {
	if err := mayManage(a); err != nil {
		return p, err
	}
	for _, text := range []*string{&p.ID, &p.Name, &p.Issuer, &p.Client, &p.AuthURL, &p.TokenURL, &p.KeysURL} {
		*text = strings.TrimSpace(*text)
	}
	if p.Created == 0 {
		p.Created = s.now().UnixMilli()
	}
	if err := p.Check(); err != nil {
		return p, err
	}
	for what, address := range map[string]string{"address of keys": p.KeysURL, "address of tokens": p.TokenURL} {
		if err := s.askable(p.ID, what, address); err != nil && address != "" {
			return p, err
		}
	}
	others, err := s.platforms(ctx)
	if err != nil {
		return p, err
	}
	for i := range others {
		o := &others[i]
		if o.ID != p.ID && o.Issuer == p.Issuer && o.Client == p.Client {
			return p, core.Errorf(core.CodeConflict, p.ID, "platform %s has the same issuer and client id", o.ID)
		}
		if o.ID == p.ID && p.Revision > 0 && o.Issuer != p.Issuer {
			return p, core.Errorf(core.CodeInvalid, p.ID, "the issuer of a platform cannot change, because its users are known by it: add another platform")
		}
	}
	if p.Revision == 0 && len(others) >= MaxPlatforms {
		return p, core.Errorf(core.CodeLimit, p.ID, "there are %d platforms, the most there may be: remove some", len(others))
	}
	verb := "changes"
	if p.Revision == 0 {
		verb = "adds"
	}
	text := verb + " learning platform " + p.ID + ", issuer " + p.Issuer + ", client " + p.Client + ", keys at " + p.KeysURL
	err = s.change(ctx, a, "", p.ID, text, func() (err error) {
		p.Revision, err = put(ctx, s.Store, school.LTIRecord{Kind: school.LTIPlatforms, ID: p.ID, Revision: p.Revision}, p)
		return err
	})
	return p, err
}

// askable returns INVALID for an address that this site must not ask.
func (s *Service) askable(id, what, address string) error {
	if err := s.Addresses.CheckURL(address); err != nil {
		return core.Errorf(core.CodeInvalid, id, "the %s cannot be asked: %s", what, err)
	}
	return nil
}

// RemovePlatform removes a platform: nobody comes from it any more. Its courses stay connected until their classes are
// deleted, and so are its users. Returns FORBIDDEN, NOTFOUND.
func (s *Service) RemovePlatform(ctx context.Context, a core.Actor, id string) error {
	if _, err := s.Platform(ctx, a, id); err != nil {
		return err
	}
	return s.change(ctx, a, "", id, "removes learning platform "+id, func() error {
		_, err := s.Store.DeleteLTI(ctx, school.LTIPlatforms, id)
		return err
	})
}

// sender returns the platform that begins a login. Returns FORBIDDEN.
func (s *Service) sender(ctx context.Context, issuer, client string) (school.LTIPlatform, error) {
	known, err := s.platforms(ctx)
	if err != nil {
		return school.LTIPlatform{}, err
	}
	var found []school.LTIPlatform
	for i := range known {
		if known[i].Issuer == issuer && (client == "" || known[i].Client == client) {
			found = append(found, known[i])
		}
	}
	switch len(found) {
	case 0:
		return school.LTIPlatform{}, forbidden("this site does not know the learning platform %.200q with the client id %.80q: an admin has to add it", issuer, client)
	case 1:
		return found[0], nil
	}
	return school.LTIPlatform{}, forbidden("several platforms have the issuer %.200q: the login has to name a client id", issuer)
}

// identity is the issuer under which users of a platform are tied. It names the platform too, because schools with
// their own Canvas share one issuer, and so that a sign-in by OpenID Connect is never taken for a launch.
func identity(p *school.LTIPlatform) string { return p.Issuer + "#lti-" + p.ID }
