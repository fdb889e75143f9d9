package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is said of a machine's cgroups is what its folders are.
func TestCgroups(t *testing.T) {
	t.Parallel()
	const all = "cpuset cpu io memory hugetlb pids\n"
	for want, files := range map[string]map[string]string{
		"cgroups of version 2": {"cgroup.controllers": all},
		"cgroups of version 1, and not 2: version 2 is not mounted":        {"memory/tasks": "", "pids/tasks": "", "cpu/tasks": ""},
		`offers only ["hugetlb"], without memory, pids, cpu`:               {"memory/tasks": "", "pids/tasks": "", "cpu/tasks": "", "unified/cgroup.controllers": "hugetlb\n"},
		"not all of the cgroups that are needed":                           {"memory/tasks": "", "unified/cgroup.controllers": "\n"},
		"cgroups of version 2 beside named ones of version 1, as a hybrid": nil,
	} {
		root := t.TempDir()
		if files == nil {
			want, files = "cgroups of version 2", map[string]string{"systemd/tasks": "", "unified/cgroup.controllers": all}
		}
		for name, text := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
		}
		assert.Contains(t, cgroups(root), want)
	}
}
