package lxc

import (
	"testing"

	"drover/vmfactory/providertest"
)

// TestConformance runs the suite on real containers.
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, newLXC)
}
