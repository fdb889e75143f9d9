package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
)

// TestCheckTriesWhatAJobNeeds takes a cgroup of user code away from a VM that waits:
// it is sound no more, though its agent is ready and alone.
func TestCheckTriesWhatAJobNeeds(t *testing.T) {
	t.Parallel()
	s := providertest.NewScene(t, newLocal)
	p, ok := s.Provider.(*Provider)
	require.True(t, ok)
	providertest.Need(t, p.cgroups.host.Has(cgroup.Memory) && p.cgroups.apart, "cgroups")
	v := s.Clean(t, providertest.Pool())
	require.NoError(t, p.Check(t.Context(), v.ID))
	job, err := filepath.Glob(filepath.Join(cgroup.Root, "*", p.cgroups.name(p.tag, v.ID), "job"))
	require.NoError(t, err)
	require.NotEmpty(t, job)
	for _, folder := range job { // what starts the job is in the folder itself already
		require.NoError(t, os.Remove(filepath.Join(folder, "own")))
	}
	require.True(t, core.Is(p.Check(t.Context(), v.ID), core.CodeBadVM))
}
