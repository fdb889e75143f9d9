package store_test

import (
	"path/filepath"
	"testing"

	"drover/core"
	"drover/core/store"

	"github.com/stretchr/testify/require"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "drover.db"))
	require.NoError(t, err)
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.Close())

	for url, text := range map[string]string{
		"":                            "sqlite://PATH",
		"drover.db":                   "sqlite://PATH",
		"postgres://u:secret@h/d":     "sqlite://PATH",
		"mongodb://":                  "mongodb://USER@HOST",
		"mongodb://u:p@secret@h/d":    "%40",
		"mongodb://u:secret@h:port/d": "mongodb://USER@HOST",
		"sqlite://":                   "sqlite://PATH",
		"sqlite:///nowhere/at/all.db": "does not exist",
	} {
		s, err := store.Open(t.Context(), url)
		require.ErrorContains(t, err, text, url)
		if s != nil { // a nil *Store would be no nil either
			t.Errorf("%s opened %T", url, s)
		}
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), url)
		require.NotContains(t, err.Error(), "secret")
	}
}
