package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestMachinesThatAreLeftAreLeaks(t *testing.T) {
	t.Parallel()
	ended := core.Instance{ID: "burst-000001", State: core.InstanceTerminated, Joined: 1}
	for name, c := range map[string]struct {
		instances []core.Instance
		left      []core.Machine
		leaked    int
	}{
		"none":                       {nil, nil, 0},
		"all ended":                  {[]core.Instance{ended}, nil, 0},
		"one is not":                 {[]core.Instance{ended, {ID: "burst-000002", State: core.InstanceTerminating}}, nil, 1},
		"ended, and runs":            {[]core.Instance{ended}, []core.Machine{{Token: "burst-000001", Foreign: "7@boot:1"}}, 1},
		"runs, and nobody knows why": {nil, []core.Machine{{Token: "burst-000001"}}, 1},
	} {
		r := newReport(Config{})
		r.machines(c.instances, c.left)
		require.Equal(t, c.leaked, r.Leaked, "%s: %v", name, r.Details)
		require.Equal(t, c.leaked == 0, r.Sound(), name)
		require.Equal(t, len(c.instances), r.Elastic.Made, name)
	}
}

func TestTheEndOfAMachineIsADeath(t *testing.T) {
	t.Parallel()
	e, s := &elastic{lives: map[string]*life{}}, newSeen()
	const owner = "testrunner@burst-000001#0"
	one := core.Machine{Token: "burst-000001", Foreign: "7@boot:1"}
	e.look([]core.Machine{one}, s.now, s.evidence)
	its := e.newest("burst-000001", 7)
	require.NotNil(t, its)
	require.Nil(t, e.newest("burst-000001", 8), "another process")
	require.Nil(t, e.newest("burst-000002", 7))
	s.lives[owner] = its
	s.tell("register", owner, "1", "").tell("declare_dead", owner, "2", "")
	require.Len(t, s.promises(), 1, "it lives")
	e.look(nil, s.now, s.evidence)
	require.Empty(t, s.promises(), "it has ended")
	e.look(nil, s.now.Add(time.Hour), s.evidence)
	require.Equal(t, s.now, its.ended, "once")
	require.Equal(t, 1, e.most)
}
