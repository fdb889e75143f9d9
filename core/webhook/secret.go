package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"drover/core"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
)

// NewSecret makes a secret to sign with.
func NewSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// Rotate puts a new secret before the newest one of a webhook: both sign until the next rotation, so that receivers
// can switch at any time in between.
func Rotate(secrets string) (rotated, secret string) {
	secret = NewSecret()
	former, _, _ := strings.Cut(secrets, " ")
	return strings.TrimSpace(secret + " " + former), secret
}

// Sign sets the headers that prove that a body is drover's: the delivery's id, the time of this try, and a signature
// by each of the webhook's secrets. Returns INTERNAL for invalid secrets.
func Sign(h http.Header, secrets, id string, at time.Time, body []byte) error {
	var signatures []string
	for secret := range strings.FieldsSeq(secrets) {
		signer, err := standard.NewWebhook(secret)
		if err != nil {
			return core.Errorf(core.CodeInternal, id, "a secret of the webhook is none") // err may quote a part of the secret
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return core.Wrap(err, core.CodeInternal, id, "the delivery cannot be signed")
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) == 0 {
		return core.Errorf(core.CodeInternal, id, "the webhook has no secret to sign with")
	}
	h.Set(standard.HeaderWebhookID, id)
	h.Set(standard.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standard.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}
