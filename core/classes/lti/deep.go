package lti

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// Bounds on what is chosen.
const (
	maxData      = 4 << 10 // bytes of what the platform wants back
	MaxChosen    = 50      // assignments at once
	MaxPoints    = 1e6
	UsualPoints  = 100.0
	responseLife = 5 * time.Minute
)

// linkType is the only type of content that there is here.
const linkType = "ltiResourceLink"

// deepSettings is how a platform asks for content.
type deepSettings struct {
	Return   string   `json:"deep_link_return_url"`
	Types    []string `json:"accept_types"`
	Targets  []string `json:"accept_presentation_document_targets"`
	Multiple bool     `json:"accept_multiple"`
	LineItem *bool    `json:"accept_lineitem"`
	Data     string   `json:"data"`
}

// Deep is what a platform wants to be chosen.
type Deep struct {
	Return   string `json:"r"` // where the answer goes
	Data     string `json:"d,omitempty"`
	Multiple bool   `json:"m,omitempty"` // more than one assignment
	LineItem bool   `json:"l,omitempty"` // with columns in the gradebook
	Window   bool   `json:"w,omitempty"` // links can open windows of their own
	Nonce    string `json:"n"`           // it is answered once
}

// deepOf reads a request to choose content. Returns FORBIDDEN.
func deepOf(p *school.LTIPlatform, c *deepSettings) (*Deep, error) {
	switch {
	case c == nil:
		return nil, forbidden("the learning platform does not say what is to be chosen")
	case !slices.Contains(c.Types, linkType):
		return nil, forbidden("the learning platform takes no links to this site here: choose another place in the course, one that takes links of tools")
	case len(c.Return) > school.MaxLTIURL || !strings.HasPrefix(c.Return, "https://"):
		return nil, forbidden("the address to which the choice is to go back, %.200q, does not begin with https://", c.Return)
	case !p.Owns(c.Return):
		return nil, forbidden("the choice is to go back to %.200q, which is not one of the pages of platform %s: an admin can add its origin to the platform", c.Return, p.ID)
	case len(c.Data) > maxData:
		return nil, forbidden("the learning platform wants %d bytes of its own back, at most %d are allowed", len(c.Data), maxData)
	}
	return &Deep{
		Return: c.Return, Data: c.Data, Multiple: c.Multiple, LineItem: c.LineItem == nil || *c.LineItem, Window: slices.Contains(c.Targets, "window"), Nonce: rand.Text(),
	}, nil
}

// Choice is a request to choose content, and who chooses.
type Choice struct {
	Pending

	Platform school.LTIPlatform
	Actor    core.Actor
	Class    string          // "": the course is not connected with one yet
	Linked   map[string]bool // assignments to which a link of the course leads already
}

// Choice reads a request to choose content. Returns FORBIDDEN.
func (s *Service) Choice(ctx context.Context, a core.Actor, sealed string) (c Choice, err error) {
	c.Pending, c.Platform, c.Actor, err = s.decider(ctx, a, sealed)
	if err == nil && c.Deep == nil {
		err = expired()
	}
	if err != nil {
		return c, err
	}
	course, err := s.Course(ctx, c.Pending)
	if core.Is(err, core.CodeNotFound) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Class = course.Class
	if err := core.Allow(c.Actor, core.ActAssignmentEdit, core.Object{Class: c.Class}); err != nil {
		return c, err
	}
	links, err := all(ctx, s.Store, school.LTILinks, c.Class, func(*school.LTILink, school.LTIRecord) {})
	c.Linked = map[string]bool{}
	for i := range links {
		if l := &links[i]; l.Platform == c.Platform.ID && l.Deployment == c.Deployment && l.Context == c.Context {
			c.Linked[l.Assignment] = true
		}
	}
	return c, err
}

// Answer is what a browser carries to the platform.
type Answer struct {
	Return string
	JWT    string
	Items  int
}

// AnswerChoice signs which assignments were chosen; none is an answer too. Points is the maximum of their columns in
// the platform's gradebook. A request is answered once. Returns FORBIDDEN, INVALID, LIMIT, NOTFOUND.
func (s *Service) AnswerChoice(ctx context.Context, a core.Actor, sealed string, assignments []string, points float64) (Answer, error) {
	c, err := s.Choice(ctx, a, sealed)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case c.Class == "":
		return Answer{}, expired()
	case len(assignments) > 1 && !c.Deep.Multiple:
		return Answer{}, core.Errorf(core.CodeInvalid, c.Class, "the learning platform takes one assignment at a time: choose one")
	case len(assignments) > MaxChosen:
		return Answer{}, core.Errorf(core.CodeLimit, c.Class, "%d assignments are chosen, at most %d may be at once", len(assignments), MaxChosen)
	case !(points > 0 && points <= MaxPoints): // nor not a number
		return Answer{}, core.Errorf(core.CodeInvalid, c.Class, "the points of a column must be more than 0 and at most %d", int(MaxPoints))
	}
	items := []any{}
	for i, handle := range assignments {
		if slices.Contains(assignments[:i], handle) {
			continue
		}
		as, err := s.Classes.ViewAssignment(ctx, c.Actor, c.Class, handle)
		if err != nil {
			return Answer{}, err
		}
		items = append(items, s.item(&c, &as, points))
	}
	if err := s.spend(ctx, c.Deep.Nonce); err != nil {
		return Answer{}, err
	}
	signed, err := s.response(ctx, &c, items)
	return Answer{Return: c.Deep.Return, JWT: signed, Items: len(items)}, err
}

// item describes an assignment to a platform.
func (s *Service) item(c *Choice, as *classes.AssignmentEntry, points float64) map[string]any {
	item := map[string]any{"type": linkType, "title": as.Title, "url": s.LaunchURL(), "custom": map[string]string{customAssignment: as.Handle}}
	if as.Title == "" {
		item["title"] = as.Handle
	}
	if c.Deep.LineItem {
		item["lineItem"] = map[string]any{"scoreMaximum": points, "label": item["title"], "resourceId": as.Handle}
	}
	if c.Deep.Window {
		item["window"] = map[string]string{"targetName": "_blank"}
	}
	if as.Due > 0 {
		item["submission"] = map[string]string{"endDateTime": time.UnixMilli(as.Due).UTC().Format(time.RFC3339)}
	}
	return item
}

func (s *Service) response(ctx context.Context, c *Choice, items []any) (string, error) {
	now := s.now()
	const claim, deep = "https://purl.imsglobal.org/spec/lti/claim/", "https://purl.imsglobal.org/spec/lti-dl/claim/"
	own := map[string]any{
		"nonce": rand.Text(), claim + "message_type": "LtiDeepLinkingResponse", claim + "version": version, claim + "deployment_id": c.Deployment,
		deep + "content_items": items,
	}
	if c.Deep.Data != "" {
		own[deep+"data"] = c.Deep.Data
	}
	return s.sign(ctx, jwt.Claims{
		Issuer: c.Platform.Client, Subject: c.Platform.Client, Audience: jwt.Audience{c.Platform.Issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(responseLife)),
	}, own)
}
