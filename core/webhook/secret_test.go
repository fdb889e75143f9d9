package webhook_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
)

func TestNewSecretIsOneOfTheStandard(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	text, ok := strings.CutPrefix(secret, "whsec_")
	require.True(t, ok)
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(raw), 24)
	require.LessOrEqual(t, len(raw), 64)
	require.NotEqual(t, secret, webhook.NewSecret())
}

func verify(t *testing.T, secret string, h http.Header, body string) error {
	t.Helper()
	verifier, err := standard.NewWebhook(secret)
	require.NoError(t, err)
	return verifier.Verify([]byte(body), h)
}

func TestSign(t *testing.T) {
	t.Parallel()
	secret, now := webhook.NewSecret(), time.Now()
	h := http.Header{}
	require.NoError(t, webhook.Sign(h, secret, "id1", now, []byte("body")))
	require.Equal(t, "id1", h.Get("webhook-id"))
	require.NoError(t, verify(t, secret, h, "body"))
	require.Error(t, verify(t, secret, h, "another body"))
	require.Error(t, verify(t, webhook.NewSecret(), h, "body"))
	h.Set("webhook-id", "id2")
	require.Error(t, verify(t, secret, h, "body"), "the id is signed too")

	require.NoError(t, webhook.Sign(h, secret, "id1", now.Add(-time.Hour), []byte("body")))
	require.Error(t, verify(t, secret, h, "body"), "an old one is not taken")

	for _, none := range []string{"", " ", "whsec_*"} {
		err := webhook.Sign(http.Header{}, none, "id1", now, nil)
		require.True(t, core.Is(err, core.CodeInternal))
		require.NotContains(t, err.Error(), "*")
	}
}

func TestRotateSignsWithTheFormerSecretToo(t *testing.T) {
	t.Parallel()
	first := webhook.NewSecret()
	both, second := webhook.Rotate(first)
	h := http.Header{}
	require.NoError(t, webhook.Sign(h, both, "id", time.Now(), []byte("body")))
	require.NoError(t, verify(t, first, h, "body"))
	require.NoError(t, verify(t, second, h, "body"))

	next, third := webhook.Rotate(both)
	require.NoError(t, webhook.Sign(h, next, "id", time.Now(), []byte("body")))
	require.Error(t, verify(t, first, h, "body"))
	require.NoError(t, verify(t, second, h, "body"))
	require.NoError(t, verify(t, third, h, "body"))

	alone, secret := webhook.Rotate("")
	require.Equal(t, secret, alone)
}
