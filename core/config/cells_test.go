package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func cellsOf(t *testing.T, lines ...string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	return Load(nil, append([]string{"HOME=" + dir, "DROVER_HOST=h1", "DROVER_REDIS=redis://ann:secret@one:6379/0"}, lines...))
}

func TestCells(t *testing.T) {
	t.Parallel()
	c, err := cellsOf(t, "DROVER_CELLS=east=redis://two:6379/0,west=redis+cluster://three:6379?addr=four:6379,north=redis://one:6379/0#n", "DROVER_CELL=west")
	require.NoError(t, err)
	require.Equal(t, []CellAt{
		{"", "redis://ann:secret@one:6379/0", "drover"},
		{"east", "redis://two:6379/0", "drover-east"},
		{"west", "redis+cluster://three:6379?addr=four:6379", "{drover-west}"},
		{"north", "redis://one:6379/0", "n"},
	}, c.AllCells())
	require.Equal(t, "west", c.OwnCell().Name)
	require.Equal(t, []string{"east", "west", "north"}, c.CellNames())

	c, err = cellsOf(t, "DROVER_CELL=first")
	require.NoError(t, err)
	require.Equal(t, c.AllCells()[0], c.OwnCell())
	require.Empty(t, c.CellNames())
}

func TestWrongCells(t *testing.T) {
	t.Parallel()
	for cells, says := range map[string]string{
		"redis://two:6379":                                "each cell is NAME=URL",
		"First=redis://two:6379":                          "each cell is NAME=URL",
		"first=redis://two:6379":                          "not first",
		"east=two":                                        "has no URL",
		"east=http://two":                                 "begins with http:",
		"east=redis://bob:hidden@two:6379":                "redis_password_file",
		"east=redis://two:6379#_":                         "not a valid name",
		"east=redis://two:6379,east=redis://three":        "named twice",
		"east=redis://two:6379#n,west=redis://two:6379#n": "give each its own",
		"east=redis+cluster://two:6379#n":                 "in braces",
	} {
		_, err := cellsOf(t, "DROVER_CELLS="+cells)
		require.ErrorContains(t, err, says, cells)
		require.NotContains(t, err.Error(), "hidden")
	}
	_, err := cellsOf(t, "DROVER_CELLS=east=redis://two:6379", "DROVER_CELL=west")
	require.ErrorContains(t, err, "there is no cell \"west\"")
}
