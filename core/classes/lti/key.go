package lti

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"drover/core"
	"drover/core/school"
)

// The one record of the site's keys.
const (
	keysID   = "site"
	keyBits  = 2048
	keyBytes = 32
)

// storedKeys is how the keys are kept. They never leave the store but to sign.
type storedKeys struct {
	ID      string `json:"kid"`
	Private []byte `json:"private"` // PKCS #8
	Secret  []byte `json:"secret"`  // signs what this site gives to browsers for itself
}

// ownKeys are the site's keys.
type ownKeys struct {
	id      string
	private *rsa.PrivateKey
	secret  []byte
}

// keysOf returns the site's keys, which are made the first time they are needed.
func (s *Service) keysOf(ctx context.Context) (*ownKeys, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil {
		return s.own, nil
	}
	kept, _, err := get[storedKeys](ctx, s.Store, school.LTIKeys, keysID)
	if core.Is(err, core.CodeNotFound) {
		if err = s.makeKeys(ctx); err == nil || core.Is(err, core.CodeConflict) { // or another site has just made them
			kept, _, err = get[storedKeys](ctx, s.Store, school.LTIKeys, keysID)
		}
	}
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(kept.Private)
	private, is := key.(*rsa.PrivateKey)
	if err != nil || !is || len(kept.Secret) != keyBytes {
		return nil, core.Errorf(core.CodeInternal, "", "the site's own key for learning platforms cannot be read")
	}
	s.own = &ownKeys{id: kept.ID, private: private, secret: kept.Secret}
	return s.own, nil
}

func (s *Service) makeKeys(ctx context.Context) error {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, "", "no key can be made")
	}
	made := storedKeys{ID: strings.ToLower(rand.Text()[:16]), Secret: make([]byte, keyBytes)}
	_, _ = rand.Read(made.Secret) // never fails
	if made.Private, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return core.Wrap(err, core.CodeInternal, "", "the key cannot be written")
	}
	_, err = put(ctx, s.Store, school.LTIRecord{Kind: school.LTIKeys, ID: keysID}, made)
	return err
}

// JWKS returns the site's public key, as platforms read it.
func (s *Service) JWKS(ctx context.Context) (jose.JSONWebKeySet, error) {
	k, err := s.keysOf(ctx)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &k.private.PublicKey, KeyID: k.id, Algorithm: string(jose.RS256), Use: "sig"}}}, nil
}

// Seal signs what this site gives to a browser and takes back later; purpose keeps one use from being taken for
// another. The content can be read by the browser.
func (s *Service) Seal(ctx context.Context, purpose string, content any) (string, error) {
	k, err := s.keysOf(ctx)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return "", core.Wrap(err, core.CodeInternal, "", "it cannot be signed")
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.mac(purpose, text)), nil
}

func (k *ownKeys) mac(purpose, text string) []byte {
	sum := hmac.New(sha256.New, k.secret)
	_, _ = sum.Write([]byte(purpose + "\n" + text)) // never fails
	return sum.Sum(nil)
}

// maxSealed bounds a sealed text, in bytes.
const maxSealed = 8 << 10

// Open reads what Seal signed. Returns FORBIDDEN.
func (s *Service) Open(ctx context.Context, purpose, sealed string, content any) error {
	k, err := s.keysOf(ctx)
	if err != nil {
		return err
	}
	text, mac, _ := strings.Cut(sealed, ".")
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || len(sealed) > maxSealed || !hmac.Equal(sum, k.mac(purpose, text)) {
		return expired()
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, content) != nil {
		return expired()
	}
	return nil
}

func expired() error {
	return forbidden("this was not begun here, or has expired: open it on the learning platform again")
}
