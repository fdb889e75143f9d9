package problem_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A package whose secret tests are still to be made is refused, and says what makes them.
func TestTestsThatAreStillToBeMade(t *testing.T) {
	t.Parallel()
	with := func(name, content, secret string) error {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/case")))
		if secret != "secret" {
			require.NoError(t, os.Rename(filepath.Join(dir, "data", "secret"), filepath.Join(dir, "data", secret)))
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		return open(t, dir).Check()
	}
	const rules = "generators/generators.yaml"
	require.ErrorContains(t, with(rules, "data: {secret: {data: [{a: gen.py 1}]}}\n", "sample"), rules+": there are no secret tests yet")
	require.ErrorContains(t, with("data/generator.sh", "", "sample"), "data/generator.sh: there are no secret tests yet, and this program makes them")
	require.NoError(t, with("data/generator.sh", "", "secret"))
	for _, none := range []string{"data: {secret: {data: []}}\n", "data: {sample: {data: [{a: gen.py 1}]}}\n", "data: [\n", "data: 1\n"} {
		assert.NoError(t, with(rules, none, "sample"), none)
	}
}
