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

// TestKinds sees that a call which the filter allows has been asked what it makes: whoever allows another one adds it to
// a kind, with a maker, or to those that make nothing.
func TestKinds(t *testing.T) {
	t.Parallel()
	assert.Equal(t, probe.Makers(), slices.Sorted(maps.Keys(kinds)))
	all := strings.Fields(makesNothing)
	for _, k := range kinds {
		all = append(all, strings.Fields(k.calls)...)
	}
	assert.ElementsMatch(t, confine.Allowed(), all)
}
