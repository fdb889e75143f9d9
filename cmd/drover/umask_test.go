package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/wiring"
	"drover/core/coretest/tier"
	"drover/core/service/guard"
)

// forEverybody are the folders and files that VMs, which have users of their own, must reach.
var forEverybody = regexp.MustCompile(`^run/[^/]+/images(/|$)`)

// Whatever the umask of the shell, of supervisord or of cron is, nothing that drover writes can be read by others, and
// what VMs need can be reached.
func TestNothingIsReadableByOthers(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	for _, mask := range []string{"000", "077"} {
		t.Run(mask, func(t *testing.T) {
			t.Parallel()
			h := newTestCluster(t)
			shell := filepath.Join(t.TempDir(), "drover")
			require.NoError(t, guard.WriteProgram(t.Context(), shell, fmt.Appendf(nil, "#!/bin/sh\numask %s\nexec '%s' \"$@\"\n", mask, h.path)))
			h.path = shell
			h.env = append(h.env, "HOME="+h.cfg.Data)
			h.pool()
			factory, runner, tasks := h.start("vmfactory"), h.start("testrunner"), h.start("taskrunner")
			site := h.start("web", "--listen", "127.0.0.1:0")
			h.said("overseer", "--once")
			await(t, "the site is up", func() bool { return strings.Contains(site.said(), wiring.AdminLinkFile) })
			require.NotContains(t, site.said(), "token=")

			h.said("user", "add", "ann")
			h.said("class", "add", "cs101")
			ids := h.submit(4, "sh", "-c", "echo secret > out.txt; umask; mkdir d && touch d/f && cat d/f")
			h.awaitLeft(0)
			h.requireOnce(ids)
			id := strings.TrimSpace(h.said("run", "--no-wait", "--collect", "out.txt", "--", "sh", "-c", "echo mine > out.txt"))
			h.awaitLeft(0)
			h.said("request", "files", "--to", filepath.Join(h.cfg.Data, "fetched"), id)
			h.requireClosed()
			h.end(factory, runner, tasks, site)
			h.requireClosed()
		})
	}
}

// requireClosed walks the data folder, which has the sockets, locks and VMs of the host as well.
func (h *testCluster) requireClosed() {
	h.t.Helper()
	seen := 0
	require.NoError(h.t, filepath.WalkDir(h.cfg.Data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == h.cfg.Data || e.Type() == fs.ModeSymlink {
			return nil //nolint:nilerr // it went meanwhile
		}
		name, err := filepath.Rel(h.cfg.Data, path)
		require.NoError(h.t, err)
		info, err := e.Info()
		if err != nil || forEverybody.MatchString(name) {
			return nil //nolint:nilerr // it went meanwhile
		}
		seen++
		require.Zero(h.t, info.Mode().Perm()&0o077, "%s has mode %s", name, info.Mode())
		return nil
	}))
	require.Greater(h.t, seen, 10, "there are files")
}
