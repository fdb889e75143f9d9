package web_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page is SECTION/pages/NAME.html, and a handler of the section shows it by the name
// SECTION/NAME. Names that begin with _ are parts.
func TestEveryPageIsWhereItBelongsAndIsShown(t *testing.T) {
	t.Parallel()
	there, shown := map[string]string{}, map[string]string{} // page → file
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch folder, file := filepath.Split(filepath.ToSlash(path)); {
		case strings.HasSuffix(file, ".html"):
			section, ok := strings.CutSuffix(folder, "/pages/")
			require.True(t, ok && !strings.Contains(section, "/"), "%s: templates are in pages/ of their section", path)
			if name := strings.TrimSuffix(file, ".html"); !strings.HasPrefix(name, "_") {
				there[strings.TrimPrefix(section+"/"+name, "page/")] = path // the engine's own have no section
			}
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			for _, name := range rendered(t, path) {
				shown[name] = path
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, there)
	for name, file := range there {
		require.Contains(t, shown, name, "%s is shown by nobody", file)
	}
	for name, file := range shown {
		require.Contains(t, there, name, "%s shows a page that is not there", file)
	}
}

// rendered are the pages that a file's calls name: Render, Again, and render for failures.
func rendered(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || !slices.Contains([]string{"Render", "Again", "render"}, f.Sel.Name) {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if name, err := strconv.Unquote(lit.Value); err == nil {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}
