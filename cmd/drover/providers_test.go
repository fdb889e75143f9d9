package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/config"
)

func TestEveryProviderIsWired(t *testing.T) {
	t.Parallel()
	for _, name := range core.ProviderNames() {
		p, err := wiring.NewProviders(&config.Config{Provider: []string{name}, Run: t.TempDir(), Data: t.TempDir()}, nil, true)
		if err != nil { // it is not in this program: the build says so by another error
			require.NotContains(t, err.Error(), "is not in this program", "newProviders makes each of core.ProviderKinds")
			continue
		}
		require.Equal(t, name, p.All[0].Name())
		require.NoError(t, p.Close())
	}
}
