package confine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// TestDumpLimit: what looks smaller holds less, so nobody may tidy it up.
func TestDumpLimit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, uint64(1), limits[unix.RLIMIT_CORE])
	assert.Empty(t, lacksDumpLimit("core\n"))
	assert.Empty(t, lacksDumpLimit("/var/crash/%p\n"))
	assert.Contains(t, lacksDumpLimit("@/run/systemd/coredump\n"), "the server at /run/systemd/coredump,")
	assert.Contains(t, lacksDumpLimit("@@/run/dumps\n"), "the server at /run/dumps,")
	assert.Contains(t, lacksDumpLimit("|/usr/lib/systemd/systemd-coredump %P\n"), "LimitCORE=1")
}
