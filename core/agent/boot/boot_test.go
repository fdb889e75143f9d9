package boot_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// light is what the agent may import directly: packages that everything needs,
// or that sort early. Before adding one, compare
// GODEBUG=inittrace=1 with and without it in the whole program: the packages
// that are listed are those that every VM pays for.
var light = []string{
	"bufio", "bytes", "cmp", "context", "crypto/subtle", "encoding/binary", "encoding/json", "errors", "fmt", "io", "io/fs",
	"maps", "os", "os/signal", "path", "runtime", "slices", "strconv", "strings", "sync", "sync/atomic", "syscall",
	"time", "unicode", "unicode/utf8", "unsafe",
	"drover/core", "drover/core/agent/pack", "drover/core/agent/server", "drover/core/agent/wire",
}

func TestAgentStaysLight(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-json=ImportPath,Imports",
		"drover/core", "drover/core/agent/pack", "drover/core/agent/wire", "drover/core/agent/server", "drover/core/agent/boot")
	out, err := list.Output()
	require.NoError(t, err)
	read := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for read.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		require.NoError(t, read.Decode(&p))
		seen++
		for _, name := range p.Imports {
			assert.True(t, slices.Contains(light, name), "%s imports %s, which makes every VM heavier", p.ImportPath, name)
		}
	}
	assert.Equal(t, 5, seen)
}
