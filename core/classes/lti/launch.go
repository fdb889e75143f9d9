package lti

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"drover/core"
	"drover/core/school"
)

// Names of claims.
const (
	version = "1.3.0"

	messageLink = "LtiResourceLinkRequest"
	messageDeep = "LtiDeepLinkingRequest"

	customAssignment = "assignment" // by which a link names where it leads
)

// Bounds on a launch.
const (
	maxToken = 64 << 10
	skew     = time.Minute // between clocks
	maxAge   = LoginLife   // of a token that does not expire earlier
)

// Launch is what a platform says of a user who comes.
type Launch struct {
	Platform   school.LTIPlatform
	Browser    string // hash of the cookie of the browser that launched
	Subject    string
	Name       string
	Email      string
	Role       core.UserRole // in the course; "" for none
	Deployment string
	Context    string // the course; "" for none
	Title      string // of the course
	Link       string
	LinkTitle  string
	Assignment string // that the link names by its custom parameter assignment; "" for none
	LineItem   string
	Deep       *Deep // what the platform wants to be chosen; nil: a link was opened
	Members    string
	Framed     bool // the browser shows the launch in a frame of the platform, and has no cookie
}

// claims are those of an id_token.
type claims struct {
	Name       string `json:"name"`
	GivenName  string `json:"given_name"`
	FamilyName string `json:"family_name"`
	Email      string `json:"email"`
	Nonce      string `json:"nonce"`
	Party      string `json:"azp"`

	Message    string    `json:"https://purl.imsglobal.org/spec/lti/claim/message_type"`
	Version    string    `json:"https://purl.imsglobal.org/spec/lti/claim/version"`
	Deployment string    `json:"https://purl.imsglobal.org/spec/lti/claim/deployment_id"`
	Target     string    `json:"https://purl.imsglobal.org/spec/lti/claim/target_link_uri"`
	Roles      *[]string `json:"https://purl.imsglobal.org/spec/lti/claim/roles"`
	Link       struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	} `json:"https://purl.imsglobal.org/spec/lti/claim/resource_link"`
	Context struct {
		ID    string `json:"id"`
		Label string `json:"label"`
		Title string `json:"title"`
	} `json:"https://purl.imsglobal.org/spec/lti/claim/context"`
	Custom map[string]json.RawMessage `json:"https://purl.imsglobal.org/spec/lti/claim/custom"`
	Grades struct {
		LineItem string `json:"lineitem"`
	} `json:"https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"`
	People struct {
		Members string `json:"context_memberships_url"`
	} `json:"https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"`
	Deep *deepSettings `json:"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"`
}

// Accept checks a launch: the token that the platform signed, against the login that the browser began. Returns
// FORBIDDEN with what is wrong, UNAVAILABLE if the platform's keys cannot be read.
func (s *Service) Accept(ctx context.Context, token, sealed, cookie string) (Launch, error) {
	keep, err := s.begun(ctx, sealed, cookie)
	if err != nil {
		return Launch{}, err
	}
	p, err := s.platform(ctx, keep.Platform)
	if core.Is(err, core.CodeNotFound) {
		return Launch{}, forbidden("the platform was removed")
	}
	if err != nil {
		return Launch{}, err
	}
	var standard jwt.Claims
	var c claims
	if err := s.signed(ctx, &p, token, &standard, &c); err != nil {
		return Launch{}, err
	}
	if err := s.addressed(&p, &standard, &c, keep); err != nil {
		return Launch{}, err
	}
	if err := s.spend(ctx, keep.Nonce); err != nil {
		return Launch{}, err
	}
	l, err := s.launch(p, standard.Subject, &c)
	l.Browser, l.Framed = keep.Browser, keep.Framed
	if err == nil && l.Framed && l.Deep == nil {
		err = forbidden("a link cannot be opened in a frame: open it in a window of its own")
	}
	return l, err
}

// signed reads a token that the platform signed.
func (s *Service) signed(ctx context.Context, p *school.LTIPlatform, token string, into ...any) error {
	if len(token) > maxToken {
		return forbidden("the platform's token has %d bytes, at most %d are allowed", len(token), maxToken)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || len(parsed.Headers) != 1 {
		return forbidden("the platform's token is no JWT that is signed by RS256")
	}
	if parsed.Headers[0].KeyID == "" {
		return forbidden("the platform's token does not say by which key it is signed")
	}
	key, err := s.key(ctx, p, parsed.Headers[0].KeyID)
	if err != nil {
		return err
	}
	if err := parsed.Claims(key, into...); err != nil {
		return forbidden("the platform's token is not signed by the platform, or its claims are not of their types")
	}
	return nil
}

// addressed checks that a token is for this site, now, and for this login.
func (s *Service) addressed(p *school.LTIPlatform, standard *jwt.Claims, c *claims, keep state) error {
	now := s.now()
	many := len(standard.Audience) > 1
	switch {
	case standard.Issuer != p.Issuer:
		return forbidden("the token's issuer is %.200q, not %s", standard.Issuer, p.Issuer)
	case !slices.Contains(standard.Audience, p.Client):
		return forbidden("the token is not for this site: its aud does not name the client id %s", p.Client)
	case many && c.Party == "", c.Party != "" && c.Party != p.Client:
		return forbidden("the token is for another site: its azp is %.80q", c.Party)
	case standard.Expiry == nil || !now.Before(standard.Expiry.Time().Add(skew)):
		return forbidden("the token has expired, or does not say when it does: the clocks of this site and of the platform may differ")
	case standard.IssuedAt == nil || standard.IssuedAt.Time().After(now.Add(skew)) || now.Sub(standard.IssuedAt.Time()) > maxAge+skew:
		return forbidden("the token was not made just now: the clocks of this site and of the platform may differ")
	case standard.NotBefore != nil && standard.NotBefore.Time().After(now.Add(skew)):
		return forbidden("the token does not hold yet")
	case c.Nonce == "" || c.Nonce != keep.Nonce:
		return forbidden("the token answers another login: its nonce is another")
	case c.Version != version:
		return forbidden("the token is of version %.20q of LTI, not %s", c.Version, version)
	case c.Message != messageLink && c.Message != messageDeep:
		return forbidden("messages of type %.80q are not known here", c.Message)
	case c.Deployment == "" || len(c.Deployment) > school.MaxLTIID || keep.Deployment != "" && keep.Deployment != c.Deployment:
		return forbidden("the token does not name the deployment of this login")
	case len(p.Deployments) > 0 && !slices.Contains(p.Deployments, c.Deployment):
		return forbidden("the deployment %.80q of platform %s is not allowed here: an admin can add it", c.Deployment, p.ID)
	case c.Target != keep.Target || !s.here(c.Target):
		return forbidden("the token's target is another than that of the login, or not at this site")
	case standard.Subject == "" || len(standard.Subject) > school.MaxSub:
		return forbidden("the token does not say who comes: anonymous launches are not possible")
	case c.Roles == nil:
		return forbidden("the token does not say which roles the user has")
	}
	return nil
}

// launch reads what a token says, once it is trusted.
func (s *Service) launch(p school.LTIPlatform, subject string, c *claims) (Launch, error) {
	name := c.Name
	if name == "" {
		name = strings.TrimSpace(c.GivenName + " " + c.FamilyName)
	}
	l := Launch{
		Platform: p, Subject: subject, Name: line(name), Email: strings.TrimSpace(c.Email), Role: roleOf(*c.Roles), Deployment: c.Deployment,
		Context: c.Context.ID, Title: line(c.Context.Title), Link: c.Link.ID, LinkTitle: line(c.Link.Title),
	}
	if l.Title == "" {
		l.Title = line(c.Context.Label)
	}
	if len(l.Context) > school.MaxLTIID || len(l.Link) > school.MaxLTIID {
		return l, forbidden("the token's ids are too long")
	}
	_ = json.Unmarshal(c.Custom[customAssignment], &l.Assignment) // anything else is none
	if school.CheckLTIURL("", "", c.Grades.LineItem) == nil {
		l.LineItem = c.Grades.LineItem
	}
	if school.CheckLTIURL("", "", c.People.Members) == nil {
		l.Members = c.People.Members
	}
	if c.Message == messageDeep {
		var err error
		l.Link, l.LineItem = "", ""
		l.Deep, err = deepOf(&p, c.Deep)
		return l, err
	}
	if l.Link == "" {
		return l, forbidden("the token does not say which link was opened")
	}
	return l, nil
}

// line returns a text as one that a line may have.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if core.CheckLine("", "", s, core.MaxLine) != nil {
		return ""
	}
	return s
}

// Vocabularies of roles.
const (
	memberRole = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
	subRole    = "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#"
)

// roleOf returns the role in a class of somebody with roles in a course; "" for none. Roles at the school as a whole
// give none. An assistant is an Instructor as well, in the words of LTI.
func roleOf(roles []string) core.UserRole {
	has := func(names ...string) bool {
		return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(names, r) })
	}
	switch {
	case has(subRole+"TeachingAssistant", memberRole+"TeachingAssistant", "TeachingAssistant"):
		return core.RoleAssistant
	case has(memberRole+"Instructor", "Instructor"):
		return core.RoleTeacher
	case has(memberRole+"Learner", "Learner"):
		return core.RoleStudent
	}
	return ""
}
