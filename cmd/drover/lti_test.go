package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/school"
)

// Learning platforms are added, shown and removed; the site's own keys are in no output.
func TestLearningPlatforms(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	require.Contains(t, h.said("lti", "platform", "list"), "drover lti platform add")
	add := []string{
		"lti", "platform", "add", "--issuer", "https://canvas.example", "--client-id", "10", "--auth", "https://canvas.example/auth",
		"--keys", "https://canvas.example/jwks", "--deployment", "a", "--deployment", "b", "canvas",
	}
	require.Contains(t, h.said(add...), "canvas is added")
	h.refused(terminal.ExitRefused, "canvas", add...)
	h.refused(terminal.ExitUsage, "must have the form https:", append([]string{"lti", "platform", "add", "--issuer", "x"}, add[5:]...)...)
	var all []school.LTIPlatform
	require.NoError(t, json.Unmarshal([]byte(h.said("lti", "platform", "list", "--json")), &all))
	require.Equal(t, []string{"a", "b"}, all[0].Deployments)
	require.Regexp(t, `keys +https://canvas.example/jwks`, h.said("lti", "platform", "show", "canvas"))
	require.Contains(t, h.said("lti", "platform", "remove", "canvas"), "is removed")
	framed := slices.Concat(add[:len(add)-1], []string{"--origin", "https://school.instructure.com", "--origin", "https://other.instructure.com", "canvas"})
	h.said(framed...)
	require.Regexp(t, `further origins +https://school.instructure.com, https://other.instructure.com`, h.said("lti", "platform", "show", "canvas"))
	h.said("lti", "platform", "remove", "canvas")
	framed[len(framed)-2] = "https://school.instructure.com/path"
	h.refused(terminal.ExitUsage, "origin", framed...)
	h.refused(terminal.ExitNotFound, `no platform "canvas"`, "lti", "platform", "show", "canvas")
}
