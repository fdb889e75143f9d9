package overseer_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/core/service/guard"
	"drover/overseer"
)

// A program of the operator says which hosts have failed, and mends what it likes: it sees those that are down.
func TestAProgramWatchesHosts(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	for _, host := range []string{"h1", "h2"} {
		s.host(host, time.Hour)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "watch")
	says := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "says"), []byte(text), 0o600))
	}
	require.NoError(t, guard.WriteProgram(t.Context(), program, []byte("#!/bin/sh\ncd \"${0%/*}\"; cat > seen; cat says\n")))
	once := func() error {
		deps := s.deps()
		deps.Clock = clock.NewManual(time.Now())
		o, err := overseer.New(overseer.Config{Beat: beat, Suspect: suspect, Down: down, MonitorCommand: program}, deps)
		require.NoError(t, err)
		_, err = o.Once(t.Context())
		return err
	}
	says("failed h1 the fan is loud\n\n")
	require.NoError(t, once())
	h1 := s.hosts()["h1"]
	require.Equal(t, core.HostDown, h1.State)
	require.Equal(t, core.HostReport{Host: "h1", By: "command", Reason: "the fan is loud"}, core.HostReport{Host: "h1", By: h1.Failed.By, Reason: h1.Failed.Reason})
	says("failed h1 still\nrecovered h2 was never out\n")
	require.NoError(t, once())
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^{"host":"h1","state":"down","drain":false,"failed_by":"command","epoch":\d+}$`, string(seen))
	require.Regexp(t, `(?m)^{"host":"h2","state":"up","drain":false,"epoch":\d+}$`, string(seen))
	require.Equal(t, "the fan is loud", s.hosts()["h1"].Failed.Reason)

	says("recovered h1\n")
	require.NoError(t, once())
	require.Nil(t, s.hosts()["h1"].Failed)
	s.report("h2", core.HostFailed)
	says("recovered h2\n")
	require.NoError(t, once())
	require.NotNil(t, s.hosts()["h2"].Failed, "only who said it takes it back")

	for text, want := range map[string]string{
		"h1 failed\n":    `it is to say "failed HOST why"`,
		"lost h1\n":      `it is to say "failed HOST why"`,
		"failed h9 so\n": `names host "h9", which is none`,
		"failed\n":       `it is to say "failed HOST why"`,
	} {
		says(text)
		require.ErrorContains(t, once(), want)
	}
}
