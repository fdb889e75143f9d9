package server

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent/wire"
)

func testPlaces(t testing.TB, limit int64) (home string, places map[string]*place) {
	t.Helper()
	home = t.TempDir()
	cfg := wire.Config{Home: home, UID: os.Getuid(), GID: os.Getgid(), Limits: core.Limits{Disk: limit}}
	places, err := openPlaces(cfg, credential{})
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, p := range places {
			p.close()
		}
	})
	return home, places
}

// Whatever the host sends: nothing lands outside the place, nothing but files
// and folders lands in it, and a refusal leaves nothing.
func FuzzFill(f *testing.F) {
	entry := func(kind wire.EntryKind, name, data string) []byte {
		b := wire.AppendEntry(nil, wire.Entry{Kind: kind, Mode: 0o777, Size: int64(len(data)), Name: name})
		return append(b, data...)
	}
	end := entry(wire.EntryEnd, "", "")
	f.Add(bytes.Join([][]byte{entry(wire.EntryFile, "a/b", "hello"), entry(wire.EntryDir, "c", ""), end}, nil))
	f.Add(bytes.Join([][]byte{entry(wire.EntryDir, "a", ""), entry(wire.EntryFile, "a", "x"), end}, nil))
	f.Add(bytes.Join([][]byte{entry(wire.EntryFile, "../../x", "x"), end}, nil))
	f.Add(bytes.Join([][]byte{entry(wire.EntryFile, "a", "x"), entry(wire.EntryVoid, "", "")}, nil))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 1000
		home, places := testPlaces(t, limit)
		refused := places[wire.Work].fill(bytes.NewReader(stream))
		total, inside := int64(0), 0
		err := filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			rel, err := filepath.Rel(home, name)
			require.NoError(t, err)
			switch filepath.Dir(rel) {
			case ".":
				require.Contains(t, []string{".", wire.Harness, wire.Submission, wire.Work}, rel)
				return nil
			case wire.Harness, wire.Submission:
				t.Fatalf("%q landed outside the place", rel)
			}
			inside++
			require.True(t, d.IsDir() || d.Type().IsRegular(), "%q is neither file nor folder", rel)
			info, err := d.Info()
			require.NoError(t, err)
			require.Zero(t, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|0o022), "%q", rel)
			if d.Type().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, total, int64(limit))
		if refused != nil {
			require.Zero(t, inside, "a refusal leaves nothing: %v", refused)
		}
	})
}
