package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestAListThatIsGivenReplacesTheWholeList(t *testing.T) {
	t.Parallel()
	g := core.HostGroup{Name: "g", Max: 4, Types: []core.MachineType{{Name: "large", Cost: 3}, {Name: "small", Cost: 2}}}
	var c Change[core.HostGroup]
	require.NoError(t, c.UnmarshalJSON([]byte(`{"types": [{"name": "new"}]}`)))
	require.NoError(t, c.onto(&g))
	require.Equal(t, core.HostGroup{Name: "g", Max: 4, Types: []core.MachineType{{Name: "new"}}}, g)
}
