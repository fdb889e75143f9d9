package attack

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"drover/vmfactory/confine"
	"drover/vmfactory/providertest/probe"
)

// TestKinds sees that each call which the filter allows is listed with what it makes. Another one is added to a kind, with
// a maker, or to those that make nothing.
func TestKinds(t *testing.T) {
	t.Parallel()
	assert.Equal(t, probe.Makers(), slices.Sorted(maps.Keys(kinds)))
	all := strings.Fields(makesNothing)
	for _, k := range kinds {
		all = append(all, strings.Fields(k.calls)...)
	}
	assert.ElementsMatch(t, confine.Allowed(), all)
}
