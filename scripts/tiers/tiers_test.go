package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestShardsRunEachUnitOnce(t *testing.T) {
	t.Parallel()
	for _, units := range []int{0, 1, 3, 17} {
		var all []unit
		for i := range units {
			all = append(all, unit{path: fmt.Sprint(i)})
		}
		for _, of := range []int{1, 4, 20} {
			for first := range 3 {
				var got []unit
				for landing := range of {
					got = append(got, pick(all, first*of+first+landing, of)...)
				}
				require.ElementsMatch(t, all, got, "%d units in %d shards", units, of)
			}
		}
	}
	all := []unit{{path: "a"}, {path: "b"}, {path: "c"}, {path: "d"}}
	require.Equal(t, []unit{{path: "b"}, {path: "d"}}, pick(all, 1, 2))
	require.Equal(t, []unit{{path: "d"}, {path: "b"}}, pick(all, 3, 2), "what a slow machine left comes first in its next turn")
}

func TestAShardWithoutTimeRunsNothing(t *testing.T) {
	t.Parallel()
	r := &runner{out: io.Discard}
	require.NoError(t, r.runShard(t.Context(), []unit{{path: "drover/none", tests: []string{"TestNone"}}}, -time.Second))
}

func TestMarkedTestsAreThoseThatCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a_test.go")
	require.NoError(t, os.WriteFile(file, []byte(`package a
func TestPlain(t *testing.T) {}
func TestMarked(t *testing.T) { tier.OnlyInAll(t, tier.Browser) }
func TestInASubtest(t *testing.T) { t.Run("x", func(t *testing.T) { tier.OnlyInAll(t, tier.S3); tier.OnlyInAll(t, tier.Long) }) }
`), 0o600))
	got, err := markedTests([]string{file})
	require.NoError(t, err)
	require.Equal(t, []marked{{"TestInASubtest", []string{"S3", "Long"}}, {"TestMarked", []string{"Browser"}}}, got)
}

func TestLongTestsAreNotRaced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a_test.go")
	require.NoError(t, os.WriteFile(file, []byte(`package a
func TestGame(t *testing.T) { tier.OnlyInAll(t, tier.Long) }
func TestServer(t *testing.T) { tier.OnlyInAll(t, tier.Mongo) }
`), 0o600))
	for path, race := range map[string]bool{"drover/overseer": true, "drover/web/page": false} {
		units, err := cut([]pkg{{path, []string{file}}}, true)
		require.NoError(t, err)
		require.Equal(t, []unit{{path, false, []string{"TestGame"}}, {path, race, []string{"TestServer"}}}, units)
	}
}

// TestMarksAreFound finds calls that markedTests does not: the tests that make them would never run in CI.
func TestMarksAreFound(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !strings.Contains(string(text), "OnlyInAll") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		calls := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && isSelector(call.Fun, "tier", "OnlyInAll") {
				calls++
			}
			return true
		})
		found := 0
		tests, err := markedTests([]string{path})
		require.NoError(t, err)
		for _, m := range tests {
			found += len(m.reasons)
		}
		require.True(t, calls == 0 || strings.HasSuffix(path, "_test.go") && found == calls,
			"%s: tier.OnlyInAll belongs into test functions, with a reason of package tier", path)
		return nil
	})
	require.NoError(t, err)
}

func TestRacedPackagesExist(t *testing.T) {
	t.Parallel()
	for _, r := range raced {
		info, err := os.Stat(filepath.Join(root, r.folder))
		require.NoError(t, err)
		require.True(t, info.IsDir())
		require.True(t, isRaced(module+r.folder) && isRaced(module+r.folder+"/below") && !isRaced(module+r.folder+"beside"))
	}
}
