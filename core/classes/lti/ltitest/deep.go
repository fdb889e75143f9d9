package ltitest

import (
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
)

// Settings is the claim that says what is to be chosen, and Return where the choice goes.
const (
	Settings = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
	Return   = "https://moodle.school.example/mod/lti/contentitem_return.php?course=2"
	Data     = "csrf:1234"
)

// DeepClaims are those of a request to choose content.
func (p *Platform) DeepClaims(query url.Values, target, subject, role string) map[string]any {
	c := p.Claims(query, subject, role)
	delete(c, Claim+"resource_link")
	c[Claim+"message_type"], c[Claim+"target_link_uri"] = "LtiDeepLinkingRequest", target
	c[Settings] = map[string]any{
		"deep_link_return_url": Return, "accept_types": []string{"link", "ltiResourceLink"}, "accept_presentation_document_targets": []string{"iframe", "window"},
		"accept_multiple": true, "accept_lineitem": true, "data": Data,
	}
	return c
}

// Item is content that a tool gives.
type Item struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	URL      string            `json:"url"`
	Custom   map[string]string `json:"custom"`
	Window   map[string]string `json:"window"`
	LineItem *struct {
		Most     float64 `json:"scoreMaximum"`
		Label    string  `json:"label"`
		Resource string  `json:"resourceId"`
	} `json:"lineItem"`
}

// Chosen reads a tool's answer as the platform does: it has to be signed by the tool, for the platform, now, and to
// give back what the platform asked for.
func (p *Platform) Chosen(t *testing.T, answer string) []Item {
	t.Helper()
	signed, err := jwt.ParseSigned(answer, []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	var standard jwt.Claims
	var own struct {
		Nonce      string `json:"nonce"`
		Message    string `json:"https://purl.imsglobal.org/spec/lti/claim/message_type"`
		Version    string `json:"https://purl.imsglobal.org/spec/lti/claim/version"`
		Deployment string `json:"https://purl.imsglobal.org/spec/lti/claim/deployment_id"`
		Data       string `json:"https://purl.imsglobal.org/spec/lti-dl/claim/data"`
		Items      []Item `json:"https://purl.imsglobal.org/spec/lti-dl/claim/content_items"`
	}
	require.NoError(t, signed.Claims(p.tool(), &standard, &own))
	require.NoError(t, standard.Validate(jwt.Expected{Issuer: Client, AnyAudience: jwt.Audience{p.Record().Issuer}, Time: time.Now()}))
	require.NotNil(t, standard.Expiry)
	require.NotNil(t, standard.IssuedAt)
	require.NotEmpty(t, own.Nonce)
	require.Equal(t, "LtiDeepLinkingResponse", own.Message)
	require.Equal(t, "1.3.0", own.Version)
	require.Equal(t, Deployment, own.Deployment)
	require.Equal(t, Data, own.Data)
	require.NotNil(t, own.Items)
	return own.Items
}
