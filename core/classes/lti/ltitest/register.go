package ltitest

import (
	"encoding/json"
	"net/http"
)

// RegisterToken lets a tool register itself once.
const RegisterToken = "token-to-register"

// Configuration is the address of the platform's configuration.
func (p *Platform) Configuration() string { return p.URL + "/openid-configuration" }

// Says changes what the platform says of itself, if not nil.
func (p *Platform) Says(change func(map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.says = change
}

// Registered are the tools that registered themselves.
func (p *Platform) Registered() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]map[string]any{}, p.tools...)
}

func (p *Platform) configuration(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks",
		"registration_endpoint": p.URL + "/register", "id_token_signing_alg_values_supported": []string{"RS256"},
		"https://purl.imsglobal.org/spec/lti-platform-configuration": map[string]any{
			"product_family_code": "moodle", "version": "5",
			"messages_supported": []map[string]any{{"type": "LtiResourceLinkRequest"}, {"type": "LtiDeepLinkingRequest"}},
		},
	}
	if p.says != nil {
		p.says(c)
	}
	_ = json.NewEncoder(w).Encode(c)
}

func (p *Platform) register(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var tool map[string]any
	if r.Header.Get("Authorization") != "Bearer "+RegisterToken || json.NewDecoder(r.Body).Decode(&tool) != nil {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	p.tools = append(p.tools, tool)
	tool["client_id"] = "client-of-the-platform"
	own, _ := tool["https://purl.imsglobal.org/spec/lti-tool-configuration"].(map[string]any)
	own["deployment_id"] = "7"
	_ = json.NewEncoder(w).Encode(tool)
}
