package lxc

import (
	"testing"

	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/attack"
)

// TestConformance runs the suite on real containers.
func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, newLXC)
}

// TestAttacks puts real containers to all attacks.
func TestAttacks(t *testing.T) {
	t.Parallel()
	attack.Run(t, newLXC, attack.LXC)
}
