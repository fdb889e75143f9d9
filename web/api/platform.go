package api

import (
	"context"

	"drover/core"
	"drover/core/classes/lti"
	"drover/core/school"
)

func platformTable() []entry {
	return []entry{
		is(Operation{"listPlatforms", get, "/platforms", core.ActUserManage, school.ScopeRead, 0, "List the learning platforms whose people come to the site, by handle"}, (*server).listPlatforms),
		is(Operation{"addPlatform", post, "/platforms", core.ActUserManage, school.ScopeAdmin, 201, "Add a learning platform; its handle is permanent"}, (*server).addPlatform),
		is(Operation{"viewPlatform", get, "/platforms/{platform}", core.ActUserManage, school.ScopeRead, 0, "Return a learning platform"}, (*server).viewPlatform),
		is(Operation{"removePlatform", remove, "/platforms/{platform}", core.ActUserManage, school.ScopeAdmin, 0, "Remove a learning platform: nobody comes from it any more"}, (*server).removePlatform),
	}
}

// OfPlatform names a learning platform.
type OfPlatform struct {
	Platform string `path:"platform"`
}

// NewPlatform is a learning platform to add.
type NewPlatform struct {
	ID          string   `json:"id" doc:"handle of the platform here, permanent"`
	Name        string   `json:"name,omitempty" doc:"for people; the handle without"`
	Issuer      string   `json:"issuer" doc:"URL by which the platform names itself"`
	Client      string   `json:"client_id" doc:"id of this site at the platform"`
	AuthURL     string   `json:"auth_url" doc:"where browsers are sent to sign in"`
	KeysURL     string   `json:"jwks_url" doc:"public keys of the platform"`
	TokenURL    string   `json:"token_url,omitempty" doc:"where this site gets its tokens; without it no scores are sent and no rosters read"`
	Deployments []string `json:"deployments,omitempty" doc:"from which people may come; all without"`
	Origins     []string `json:"origins,omitempty" doc:"further origins of the platform's pages, such as https://school.instructure.com"`
	NewClasses  bool     `json:"new_classes,omitempty" doc:"teachers of the platform may make classes"`
}

// platforms returns UNAVAILABLE if nobody comes from learning platforms.
func (s *server) platforms() (*lti.Service, error) {
	if s.LTI == nil {
		return nil, core.Errorf(core.CodeUnavailable, "", "this site has no learning platforms")
	}
	return s.LTI, nil
}

func (s *server) listPlatforms(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[school.LTIPlatform]], error) {
	of, err := s.platforms()
	if err != nil {
		return nil, err
	}
	return all(of.Platforms(ctx, a))
}

func (s *server) addPlatform(ctx context.Context, a core.Actor, in *struct{ Body NewPlatform }) (*tagged[school.LTIPlatform], error) {
	of, err := s.platforms()
	if err != nil {
		return nil, err
	}
	b := in.Body
	p := school.LTIPlatform{
		ID: b.ID, Name: b.Name, Issuer: b.Issuer, Client: b.Client, AuthURL: b.AuthURL, KeysURL: b.KeysURL, TokenURL: b.TokenURL,
		Deployments: b.Deployments, Origins: b.Origins, NewClasses: b.NewClasses,
	}
	if p.Name == "" {
		p.Name = p.ID
	}
	if p, err = of.PutPlatform(ctx, a, p); err != nil {
		return nil, err
	}
	return made(p.Revision, p, "platforms", p.ID), nil
}

func (s *server) viewPlatform(ctx context.Context, a core.Actor, in *struct {
	OfPlatform
	Reading
},
) (*tagged[school.LTIPlatform], error) {
	of, err := s.platforms()
	if err != nil {
		return nil, err
	}
	p, err := of.Platform(ctx, a, in.Platform)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, p.Revision, p), nil
}

func (s *server) removePlatform(ctx context.Context, a core.Actor, in *OfPlatform) (*done, error) {
	of, err := s.platforms()
	if err != nil {
		return nil, err
	}
	return &done{}, of.RemovePlatform(ctx, a, in.Platform)
}
