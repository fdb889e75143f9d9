package examples_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"drover/core/account/secrets"
	"drover/examples"
)

// cloud-init reads it, the token is in one file that only root can read, and systemd runs the command.
func TestCloudInit(t *testing.T) {
	t.Parallel()
	token := secrets.New(secrets.Join)
	text := examples.CloudInit(token, "https://grader.school.example:8443")
	require.True(t, strings.HasPrefix(text, "#cloud-config\n"), "by its first line it is known")
	var doc struct {
		Files []struct {
			Path        string `yaml:"path"`
			Permissions string `yaml:"permissions"`
			Content     string `yaml:"content"`
		} `yaml:"write_files"`
		Run [][]string `yaml:"runcmd"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&doc))
	require.Len(t, doc.Files, 2)
	require.Equal(t, token, doc.Files[0].Content)
	require.Equal(t, "0600", doc.Files[0].Permissions)
	require.Equal(t, 1, strings.Count(text, token))
	unit := doc.Files[1]
	require.Contains(t, unit.Content, "ExecStart=/usr/local/bin/drover join --token-file "+doc.Files[0].Path+" https://grader.school.example:8443\n")
	require.Equal(t, [][]string{{"systemctl", "enable", "--now", strings.TrimPrefix(unit.Path, "/etc/systemd/system/")}}, doc.Run)
	require.NotContains(t, text, "example.org")
	require.NotContains(t, text, "drj_TOKEN")
}
