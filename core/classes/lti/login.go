package lti

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"time"

	"drover/core"
	"drover/core/school"
)

// LoginLife is how long a login may take, from the platform's first request to the launch.
const LoginLife = 10 * time.Minute

const statePurpose = "state"

// Login is a platform's request that a browser be sent to it to launch.
type Login struct {
	Issuer, Hint, Target, MessageHint, Client, Deployment string

	Framed bool // the browser shows it in a frame of the platform; only content is chosen so
}

// state is what a login remembers, in the browser.
type state struct {
	Platform   string `json:"p"`
	Nonce      string `json:"n"`
	Browser    string `json:"b"` // hash of the cookie
	Target     string `json:"t"`
	Deployment string `json:"d,omitempty"`
	Framed     bool   `json:"f,omitempty"`
	Expires    int64  `json:"x"`
}

// Begin answers a platform's request: the browser keeps the cookie and goes to the address. Returns FORBIDDEN for an
// unknown platform, and for a target that is not here.
func (s *Service) Begin(ctx context.Context, l Login) (to, cookie string, err error) {
	p, err := s.Sender(ctx, l)
	if err != nil {
		return "", "", err
	}
	if l.Hint == "" || len(l.Hint) > maxSealed || len(l.MessageHint) > maxSealed {
		return "", "", forbidden("the platform's login has no login_hint")
	}
	cookie = rand.Text()
	keep := state{
		Platform: p.ID, Nonce: rand.Text(), Browser: hashed(cookie), Target: l.Target, Deployment: l.Deployment,
		Framed: l.Framed, Expires: s.now().Add(LoginLife).UnixMilli(),
	}
	sealed, err := s.Seal(ctx, statePurpose, keep)
	if err != nil {
		return "", "", err
	}
	u, err := url.Parse(p.AuthURL)
	if err != nil {
		return "", "", core.Wrap(err, core.CodeInternal, p.ID, "the address of platform %s cannot be read", p.ID)
	}
	q := u.Query()
	for name, value := range map[string]string{
		"scope": "openid", "response_type": "id_token", "response_mode": "form_post", "prompt": "none", "client_id": p.Client,
		"redirect_uri": s.LaunchURL(), "login_hint": l.Hint, "state": sealed, "nonce": keep.Nonce,
	} {
		q.Set(name, value)
	}
	if l.MessageHint != "" {
		q.Set("lti_message_hint", l.MessageHint)
	}
	u.RawQuery = q.Encode()
	return u.String(), cookie, nil
}

// Sender returns the platform of a login whose target is here. Returns FORBIDDEN.
func (s *Service) Sender(ctx context.Context, l Login) (school.LTIPlatform, error) {
	p, err := s.sender(ctx, l.Issuer, l.Client)
	if err == nil && !s.here(l.Target) {
		err = forbidden("the platform wants to launch %.200q, which is not at this site: its target has to be %s", l.Target, s.LaunchURL())
	}
	return p, err
}

// begun returns the login that a launch answers, which it does once, in the same browser. A frame has no cookie by which
// the browser is known: what is begun there signs nobody in. Returns FORBIDDEN.
func (s *Service) begun(ctx context.Context, sealed, cookie string) (state, error) {
	var keep state
	if err := s.Open(ctx, statePurpose, sealed, &keep); err != nil {
		return keep, err
	}
	same := cookie != "" && subtle.ConstantTimeCompare([]byte(hashed(cookie)), []byte(keep.Browser)) == 1
	if s.now().UnixMilli() > keep.Expires || !same && !keep.Framed {
		return keep, expired()
	}
	return keep, nil
}

// BegunInFrame reports whether a login began in a frame, where the browser keeps no cookie.
func (s *Service) BegunInFrame(ctx context.Context, sealed string) bool {
	var keep state
	return s.Open(ctx, statePurpose, sealed, &keep) == nil && keep.Framed
}

// spend uses up a nonce. Returns FORBIDDEN if it was used already.
func (s *Service) spend(ctx context.Context, nonce string) error {
	got, err := s.Limits.Take(ctx, "lti:"+nonce, core.Rate{Every: 2 * LoginLife, Burst: 1}, 1)
	if err == nil && !got.Allowed {
		err = expired()
	}
	return err
}

func hashed(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}
