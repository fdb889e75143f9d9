package lti

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// Bounds of registrations.
const (
	RegistrationLife = time.Hour
	maxRegistrations = 20 // that are open at a time
	maxRegisterToken = 8 << 10
)

// registrationKind is the scheme of the paths of links, which logs leave out.
const registrationKind = "dro_lti_"

func registrationID(secret string) string { return school.LTIID("registration", secret) }

// OpenRegistration makes a secret by which one platform registers itself, once, within RegistrationLife. Only its hash
// is kept. Returns FORBIDDEN, LIMIT.
func (s *Service) OpenRegistration(ctx context.Context, a core.Actor) (secret string, err error) {
	if err := mayManage(a); err != nil {
		return "", err
	}
	now := s.now()
	var over []string
	n := 0
	_, err = all(ctx, s.Store, school.LTIRegistrations, "", func(o *school.LTIRegistration, r school.LTIRecord) {
		if n++; o.Expires <= now.UnixMilli() {
			over = append(over, r.ID)
		}
	})
	if err != nil {
		return "", err
	}
	for _, id := range over {
		if _, err := s.Store.DeleteLTI(ctx, school.LTIRegistrations, id); err != nil {
			return "", err
		}
	}
	if n-len(over) >= maxRegistrations {
		return "", core.Errorf(core.CodeLimit, "", "%d links to register a platform are open, the most there may be: wait an hour", maxRegistrations)
	}
	secret = registrationKind + strings.ToLower(rand.Text())
	open := school.LTIRegistration{By: a.Handle, Expires: now.Add(RegistrationLife).UnixMilli()}
	return secret, s.change(ctx, a, "", a.Handle, "makes a link by which a learning platform registers itself", func() error {
		_, err := put(ctx, s.Store, school.LTIRecord{Kind: school.LTIRegistrations, ID: registrationID(secret)}, open)
		return err
	})
}

// Registration is how a platform asks to be registered.
type Registration struct {
	Secret        string
	Configuration string // address of the platform's configuration
	Token         string // for the platform's registration; "" for none
}

// Host is where the platform is.
func (g Registration) Host() string {
	u, err := url.Parse(g.Configuration)
	if err != nil {
		return ""
	}
	return u.Host
}

// CheckRegistration returns FORBIDDEN for a secret that is not good, and INVALID for an address that must not be asked.
func (s *Service) CheckRegistration(ctx context.Context, g Registration) error {
	_, err := s.registrar(ctx, g)
	return err
}

// registrar returns the admin who made a registration's secret, as an actor.
func (s *Service) registrar(ctx context.Context, g Registration) (core.Actor, error) {
	stale := forbidden("this link to register a platform was used already, or has expired: make another one")
	if !strings.HasPrefix(g.Secret, registrationKind) || len(g.Secret) > school.MaxLTIID {
		return core.Actor{}, stale
	}
	open, _, err := get[school.LTIRegistration](ctx, s.Store, school.LTIRegistrations, registrationID(g.Secret))
	if core.Is(err, core.CodeNotFound) || err == nil && open.Expires <= s.now().UnixMilli() {
		return core.Actor{}, stale
	}
	if err != nil {
		return core.Actor{}, err
	}
	a, err := s.Classes.Actor(ctx, open.By)
	if err == nil {
		err = mayManage(a)
	}
	if err != nil {
		return a, stale
	}
	if len(g.Token) > maxRegisterToken || strings.ContainsAny(g.Token, " \r\n") {
		return a, core.Errorf(core.CodeInvalid, "", "the platform's token to register cannot be read")
	}
	if err := school.CheckLTIURL("", "address of the platform's configuration", g.Configuration); err != nil {
		return a, err
	}
	return a, s.askable("", "address of the platform's configuration", g.Configuration)
}

// configured is what a platform says of itself.
type configured struct {
	Issuer       string   `json:"issuer"`
	Auth         string   `json:"authorization_endpoint"`
	Token        string   `json:"token_endpoint"`
	Keys         string   `json:"jwks_uri"`
	Registration string   `json:"registration_endpoint"`
	Algorithms   []string `json:"id_token_signing_alg_values_supported"`
	Platform     struct {
		Family   string `json:"product_family_code"`
		Messages []struct {
			Type string `json:"type"`
		} `json:"messages_supported"`
	} `json:"https://purl.imsglobal.org/spec/lti-platform-configuration"`
}

// Register registers this site at a platform, and keeps the platform. The secret is used up. Returns FORBIDDEN,
// INVALID, CONFLICT, LIMIT, and UNAVAILABLE if the platform refuses.
func (s *Service) Register(ctx context.Context, g Registration) (school.LTIPlatform, error) {
	a, err := s.registrar(ctx, g)
	if err != nil {
		return school.LTIPlatform{}, err
	}
	c, err := s.configuration(ctx, g)
	if err != nil {
		return school.LTIPlatform{}, err
	}
	p := school.LTIPlatform{Issuer: c.Issuer, AuthURL: c.Auth, TokenURL: c.Token, KeysURL: c.Keys, Name: line(c.Platform.Family + " (" + g.Host() + ")"), Client: "none"}
	if p.ID, err = s.freeID(ctx, c.Platform.Family, g.Host()); err != nil {
		return p, err
	}
	if err := p.Check(); err != nil { // before the platform keeps anything
		return p, err
	}
	is, err := s.Store.DeleteLTI(ctx, school.LTIRegistrations, registrationID(g.Secret))
	if err == nil && !is {
		err = forbidden("this link to register a platform was used just now")
	}
	if err != nil {
		return p, err
	}
	if err := s.enlist(ctx, g, c, &p); err != nil {
		return p, err
	}
	return s.PutPlatform(ctx, a, p)
}

// configuration reads what a platform says of itself. Its issuer has to be where the configuration is.
func (s *Service) configuration(ctx context.Context, g Registration) (*configured, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.Configuration, http.NoBody)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "", "the platform's configuration cannot be asked for")
	}
	r.Header.Set("Accept", "application/json")
	if g.Token != "" {
		r.Header.Set("Authorization", "Bearer "+g.Token)
	}
	raw, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	var c configured
	if json.Unmarshal(raw, &c) != nil {
		return nil, core.Errorf(core.CodeUnavailable, g.Host(), "the configuration of %s cannot be read", g.Host())
	}
	issuer, err := url.Parse(c.Issuer)
	at, wrong := url.Parse(g.Configuration)
	wants := func(m struct {
		Type string `json:"type"`
	},
	) bool {
		return m.Type == messageLink
	}
	switch {
	case err != nil || wrong != nil || issuer.Scheme != at.Scheme || !strings.EqualFold(issuer.Host, at.Host):
		return nil, forbidden("the platform at %s says that its issuer is %.200q, which is elsewhere", g.Host(), c.Issuer)
	case len(c.Algorithms) > 0 && !slices.Contains(c.Algorithms, "RS256"):
		return nil, forbidden("the platform at %s does not sign by RS256", g.Host())
	case !slices.ContainsFunc(c.Platform.Messages, wants):
		return nil, forbidden("the platform at %s does not say that it launches links", g.Host())
	}
	for what, address := range map[string]string{"address of registration": c.Registration, "address of keys": c.Keys, "address of tokens": c.Token} {
		if err := s.askable(g.Host(), what, address); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// enlist tells a platform about this site, and fills in what it answers.
func (s *Service) enlist(ctx context.Context, g Registration, c *configured, p *school.LTIPlatform) error {
	raw, err := json.Marshal(s.tool(c))
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the registration cannot be written")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Registration, bytes.NewReader(raw))
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "the address of registration cannot be asked")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if g.Token != "" {
		r.Header.Set("Authorization", "Bearer "+g.Token)
	}
	if raw, err = s.ask(r); err != nil {
		return err
	}
	var got struct {
		Client string `json:"client_id"`
		Tool   struct {
			Deployment string `json:"deployment_id"`
		} `json:"https://purl.imsglobal.org/spec/lti-tool-configuration"`
	}
	if json.Unmarshal(raw, &got) != nil || school.CheckLTIID(p.ID, "client id", got.Client) != nil {
		return core.Errorf(core.CodeUnavailable, g.Host(), "the platform at %s answers with no client id", g.Host())
	}
	if p.Client = got.Client; school.CheckLTIID("", "", got.Tool.Deployment) == nil {
		p.Deployments = []string{got.Tool.Deployment}
	}
	return nil
}

// tool describes this site to a platform.
func (s *Service) tool(c *configured) map[string]any {
	messages := []any{map[string]any{"type": messageLink, "target_link_uri": s.LaunchURL(), "label": s.Name}}
	for _, m := range c.Platform.Messages {
		if m.Type == messageDeep {
			messages = append(messages, map[string]any{"type": messageDeep, "target_link_uri": s.DeepURL(), "label": s.Name})
			break
		}
	}
	return map[string]any{ //nolint:gosec // names of the specification, no secrets
		"application_type": "web", "grant_types": []string{"implicit", "client_credentials"}, "response_types": []string{"id_token"},
		"redirect_uris": []string{s.LaunchURL()}, "initiate_login_uri": s.at("lti", "login"), "client_name": s.Name, "jwks_uri": s.at("lti", "jwks"),
		"token_endpoint_auth_method": "private_key_jwt", "scope": strings.Join(Scopes(), " "),
		"https://purl.imsglobal.org/spec/lti-tool-configuration": map[string]any{
			"domain": s.URL.Host, "target_link_uri": s.LaunchURL(), "claims": []string{"iss", "sub", "name", "given_name", "family_name", "email"}, "messages": messages,
		},
	}
}

// freeID makes a handle for a platform.
func (s *Service) freeID(ctx context.Context, family, host string) (string, error) {
	known, err := s.platforms(ctx)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(host, ":")
	base := handleFor(&Launch{Name: family + "-" + name, Subject: host})
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		if !slices.ContainsFunc(known, func(p school.LTIPlatform) bool { return p.ID == id }) {
			return id, nil
		}
	}
}
