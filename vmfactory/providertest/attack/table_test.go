package attack

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table into docs/security.md")

const document = "../../../docs/security.md"

// TestTable sees that the table in the document is the one that providers are tested by.
func TestTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), Begin+"\n")
	require.True(t, ok, "the document has a place for the table")
	was, after, ok := strings.Cut(rest, End)
	require.True(t, ok, "and the place has an end")
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+Begin+"\n"+Table()+End+after), 0o644))
		return
	}
	assert.Equal(t, Table(), was, "run go test ./vmfactory/providertest/attack -update")
}

// TestProbes sees that no attack is missing, and that each is tried by something that exists.
func TestProbes(t *testing.T) {
	t.Parallel()
	all := Probes()
	assert.GreaterOrEqual(t, len(all), More)
	for i, p := range all {
		assert.Equal(t, i+1, p.Number)
		assert.True(t, p.try != nil || len(p.Covers) > 0, "nothing tries %s", p.Name)
		for _, cover := range p.Covers {
			at := strings.LastIndex(cover, "/")
			file, name := cover[:at], cover[at+1:]
			text, err := os.ReadFile(filepath.Join("..", file+".go"))
			require.NoError(t, err, cover)
			assert.Contains(t, string(text), name, "the conformance suite has %s", cover)
		}
	}
	for _, c := range Columns() {
		for number, e := range c.except {
			assert.True(t, number >= 1 && number <= len(all), "%s: there is no attack %d", c.Title, number)
			assert.True(t, e.weak == (len(e.leaks) == 0) && e.why != "", "%s: %d needs a reason, and what gets out if it is not held", c.Title, number)
		}
	}
}
