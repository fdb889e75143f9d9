package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/caller"
)

func selfTable() []entry {
	return []entry{
		is(Operation{"me", get, "/me", "", school.ScopeRead, 0, "Return the user of the token, its classes and the token's scopes"}, (*server).me),
	}
}

// Me is the caller.
type Me struct {
	classes.Profile
	Token  string         `json:"token,omitempty" doc:"id of the calling token"`
	Scopes []school.Scope `json:"scopes" doc:"scopes of the token"`
}

type nothing struct{}

type answer[T any] struct{ Body T }

// answered is the answer with a thing, unless there is an error.
func answered[T any](thing T, err error) (*answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &answer[T]{thing}, nil
}

func (s *server) me(ctx context.Context, a core.Actor, _ *nothing) (*answer[Me], error) {
	profile, err := s.Classes.ViewUser(ctx, a, a.Handle)
	if err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	me := Me{Profile: profile, Token: c.Token, Scopes: c.Scopes}
	if c.Token == "" {
		me.Scopes = school.Scopes()
	}
	return &answer[Me]{me}, nil
}
