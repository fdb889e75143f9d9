package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/school"
	"drover/web/services"
)

func joinTable() []entry {
	return []entry{
		is(Operation{"joinHost", post, "/join", "", "", 201, "Redeem a join token: make the calling machine a host of the cluster, and return what a host needs to know"}, (*server).joinHost),
		is(Operation{"listJoinTokens", get, "/join/tokens", core.ActClusterView, school.ScopeRead, 0, "List the tokens by which machines join, newest first"}, (*server).listJoinTokens),
		is(Operation{"makeJoinToken", post, "/join/tokens", core.ActClusterOperate, school.ScopeCluster, 201, "Create a token by which machines join; only this answer has its secret"}, (*server).makeJoinToken),
		is(Operation{"revokeJoinToken", remove, "/join/tokens/{id}", core.ActClusterOperate, school.ScopeCluster, 0, "Revoke a join token; hosts that joined by it stay"}, (*server).revokeJoinToken),
	}
}

// Joining is a machine that wants to become a host.
type Joining struct {
	Token   string `json:"token" maxLength:"100" doc:"the secret of a join token, drj_…"`
	Host    string `json:"host,omitempty" maxLength:"63" doc:"name that the machine is to have; refused if the token is for another"`
	Machine string `json:"machine,omitempty" maxLength:"63" doc:"name that it gets if neither host nor the token says one"`
	Key     string `json:"key" minLength:"32" maxLength:"128" doc:"made up by the machine and known to nobody else: a repeated call with the same key gets the same answer, and counts once"`
}

func (s *server) joinHost(ctx context.Context, _ core.Actor, in *struct{ Body Joining }) (*answer[join.Grant], error) {
	return answered(s.Join.Redeem(ctx, join.Ask{Token: in.Body.Token, Host: in.Body.Host, Machine: in.Body.Machine, Key: in.Body.Key, Address: services.Address(exchanged(ctx).r)}))
}

func (s *server) listJoinTokens(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[core.JoinToken]], error) {
	return all(s.Join.Tokens(ctx, a))
}

// NewJoinToken says what a join token is for.
type NewJoinToken struct {
	Host  string `json:"host,omitempty" maxLength:"63" doc:"the one host that joins by it; each machine names itself by default"`
	Group string `json:"group,omitempty" maxLength:"63" doc:"the host group whose labels the hosts get"`
	Uses  int    `json:"uses,omitempty" minimum:"1" maximum:"100" doc:"most hosts that join by it; 1 by default"`
	Life  int64  `json:"life_ms,omitempty" minimum:"1000" maximum:"3600000" doc:"lifetime; 15 minutes by default"`
}

// JoinSecret is a join token with its secret.
type JoinSecret struct {
	Secret string         `json:"secret" doc:"drj_…, for drover join"`
	Token  core.JoinToken `json:"token"`
}

func (s *server) makeJoinToken(ctx context.Context, a core.Actor, in *struct{ Body NewJoinToken }) (*answer[JoinSecret], error) {
	b := in.Body
	secret, t, err := s.Join.Issue(ctx, a, join.Wish{Host: b.Host, Group: b.Group, Uses: b.Uses, Life: time.Duration(b.Life) * time.Millisecond})
	return answered(JoinSecret{secret, join.Shown(t)}, err)
}

func (s *server) revokeJoinToken(ctx context.Context, a core.Actor, in *One) (*done, error) {
	return &done{}, s.Join.Revoke(ctx, a, in.ID)
}
