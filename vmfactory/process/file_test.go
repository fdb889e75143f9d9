package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.ErrorIs(t, WriteFile(path, "x"), fs.ErrNotExist, "it makes none")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "text")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if err != nil || string(got) != string(text) {
			t.Fatalf("%q, %v", got, err)
		}
	})
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	require.NoError(t, WriteFile(path, "af"))
	got, err := ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "affore", string(got), "in place, as the kernel's files need it")
	require.ErrorContains(t, WriteFile("/dev/full", "x"), "no space left")
}
