package taskrunner_test

import (
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/taskrunner"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	good := taskrunner.Config{Registration: core.Registration{Owner: owner, Host: "h1"}}
	log, _ := test.NewNullLogger()
	_, err := taskrunner.New(good, taskrunner.Deps{Log: log})
	require.NoError(t, err)
	for name, spoil := range map[string]func(*taskrunner.Config){
		"another role":      func(c *taskrunner.Config) { c.Registration.Owner = "testrunner@h1#0" },
		"another host":      func(c *taskrunner.Config) { c.Registration.Host = "h2" },
		"no name":           func(c *taskrunner.Config) { c.Registration.Owner = "" },
		"negative slots":    func(c *taskrunner.Config) { c.Slots = -1 },
		"negative attempts": func(c *taskrunner.Config) { c.MaxAttempts = -1 },
		"negative time":     func(c *taskrunner.Config) { c.Timeout = -1 },
	} {
		cfg := good
		spoil(&cfg)
		_, err := taskrunner.New(cfg, taskrunner.Deps{Log: log})
		require.True(t, core.Is(err, core.CodeInvalid), "%s: %v", name, err)
	}
}

func TestHopelessRegistrationsEndTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.faults(func(string) (error, error) { return core.Errorf(core.CodeBusy, "h1", "in use"), nil })
		err := <-r.start().ended
		require.True(t, core.Is(err, core.CodeBusy))
	})
}
