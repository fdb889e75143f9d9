package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhereSecretsAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secret, settings := file("secret", "s3cret"), ""
	settings = file("drover.yaml", "redis: redis://drover:s3cret@h1\nstore: mongodb://drover@db/drover?replicaSet=r\nstore_password_file: "+secret+"\nblobs: s3://bucket?region=eu\n")
	c, err := load(workstation(t), map[string]string{"config": settings, "smtp": "smtp://me:s3cret@mail", "mail_from": "a@b.example"}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"store_password_file": secret}, c.SecretPaths())
	require.Equal(t, []string{"redis"}, c.PasswordsInFile(), "not what comes from another file, or from a flag")
}
