package lti

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"
)

// Bounds of what a platform answers.
const (
	askTimeout   = 10 * time.Second
	maxAnswer    = 1 << 20
	maxKeys      = 100
	minKeyBits   = 2048
	keysLive     = time.Hour
	keysAskAgain = time.Minute // at most, when a key is not known
)

// cachedKeys are the public keys of platforms, by address. There are at most as many as platforms, MaxPlatforms, and
// those that an admin changed since.
type cachedKeys struct {
	sync.Mutex
	of map[string]*keySet
}

type keySet struct {
	sync.Mutex
	keys  []jose.JSONWebKey
	tried time.Time // when they were asked for last, also in vain
	good  time.Time // when they were read last
}

// key returns a platform's public key. Returns FORBIDDEN for one that the platform does not have, UNAVAILABLE if it
// does not answer.
func (s *Service) key(ctx context.Context, p *school.LTIPlatform, id string) (*rsa.PublicKey, error) {
	s.keys.Lock()
	if s.keys.of == nil || len(s.keys.of) > MaxPlatforms {
		s.keys.of = map[string]*keySet{}
	}
	set := s.keys.of[p.KeysURL]
	if set == nil {
		set = &keySet{}
		s.keys.of[p.KeysURL] = set
	}
	s.keys.Unlock()

	set.Lock()
	defer set.Unlock()
	now := s.now()
	found := set.find(id)
	if found != nil && now.Sub(set.good) < keysLive {
		return found, nil
	}
	if !set.tried.IsZero() && now.Sub(set.tried) < keysAskAgain {
		if found != nil {
			return found, nil
		}
		return nil, forbidden("platform %s has no key %.80q", p.ID, id)
	}
	set.tried = now
	keys, err := s.fetchKeys(ctx, p.KeysURL)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, p.ID, "the keys of platform %s cannot be read", p.ID)
	}
	set.keys, set.good = keys, now
	if found = set.find(id); found == nil {
		return nil, forbidden("platform %s has no key %.80q", p.ID, id)
	}
	return found, nil
}

// find returns the key of an id; nil for none. A key that is not for signatures by RS256 is none.
func (k *keySet) find(id string) *rsa.PublicKey {
	for i := range k.keys {
		one := &k.keys[i]
		public, is := one.Key.(*rsa.PublicKey)
		if is && one.KeyID == id && one.Use != "enc" && (one.Algorithm == "" || one.Algorithm == string(jose.RS256)) && public.N.BitLen() >= minKeyBits {
			return public
		}
	}
	return nil
}

func (s *Service) fetchKeys(ctx context.Context, address string) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	raw, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, errors.New("it has too many keys")
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(one, &key) == nil { // others may be of a kind that is not known here
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// ask sends a request to a platform, and returns the body of its answer. Returns UNAVAILABLE for an
// answer that is not a success.
func (s *Service) ask(r *http.Request) ([]byte, error) {
	raw, _, err := s.answer(r, maxAnswer)
	return raw, err
}

// answer is ask for an answer of at most some bytes, with its header.
func (s *Service) answer(r *http.Request, most int64) ([]byte, http.Header, error) {
	answer, err := s.client(r.URL).Do(r)
	if err != nil {
		var sent *url.Error // its text has the address, which may be a secret of the platform
		if errors.As(err, &sent) {
			err = sent.Err
		}
		return nil, nil, core.Wrap(err, core.CodeUnavailable, r.URL.Host, "%s does not answer", r.URL.Host)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return nil, nil, core.Wrap(err, core.CodeUnavailable, r.URL.Host, "the answer of %s ends early", r.URL.Host)
	case int64(len(raw)) > most:
		return nil, nil, core.Errorf(core.CodeUnavailable, r.URL.Host, "the answer of %s is too long", r.URL.Host)
	case answer.StatusCode/100 != 2:
		return nil, nil, core.Errorf(core.CodeUnavailable, r.URL.Host, "%s answers with status %d", r.URL.Host, answer.StatusCode)
	}
	return raw, answer.Header, nil
}

// client returns a client for a scheme.
func (s *Service) client(u *url.URL) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]*http.Client{}
		for _, scheme := range []string{"http", "https"} {
			s.asked[scheme] = s.Addresses.Client(scheme, webhook.Times{Connect: askTimeout / 2, Answer: askTimeout}, nil, nil)
			s.asked[scheme].Timeout = askTimeout
		}
	}
	if u.Scheme == "http" {
		return s.asked["http"]
	}
	return s.asked["https"]
}
