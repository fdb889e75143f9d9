package hostload

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMemoryOfAContainer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       int64
	}{
		"no cgroups":            {"", "", 1000},
		"version 2":             {"memory.max", "600\n", 600},
		"version 2, no limit":   {"memory.max", "max\n", 1000},
		"version 1":             {"memory/memory.limit_in_bytes", "700\n", 700},
		"version 1, no limit":   {"memory/memory.limit_in_bytes", "9223372036854771712\n", 1000},
		"more than there is":    {"memory.max", "5000", 1000},
		"what cannot be a size": {"memory.max", "-1", 1000},
	} {
		root := t.TempDir()
		if c.file != "" {
			at := filepath.Join(root, "sys/fs/cgroup", c.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, os.WriteFile(at, []byte(c.text), 0o600))
		}
		require.Equal(t, c.want, Memory(1000, root), name)
	}
}
