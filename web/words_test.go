package web_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/stretchr/testify/require"

	"drover/core/harness"
	"drover/core/harness/explain"
	"drover/core/school"
)

// Every sentence that a page says is in every catalogue, with the same verbs, and no
// catalogue has one that nobody says.
func TestCataloguesHaveEverySentence(t *testing.T) {
	t.Parallel()
	said := make(map[string]string) // sentence → where
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".go"):
			sentencesOfGo(t, path, said)
		case strings.HasSuffix(path, ".html"):
			sentencesOfTemplate(t, path, said)
		}
		return nil
	})
	require.NoError(t, err)
	for _, k := range school.TaskKinds() {
		said[k.Title] = "task kind " + k.Name
		if k.Command != "" {
			said[k.Does] = "task kind " + k.Name
		}
		for _, a := range k.Options() {
			if a.Label != "" {
				said[a.Label] = "task kind " + k.Name
			}
		}
	}
	for _, sentence := range harness.WarningSentences() {
		said[sentence] = "a warning about a harness"
	}
	for _, sentence := range explain.Sentences() {
		said[sentence] = "an explanation of a result"
	}
	require.Contains(t, said, "Sign in")
	files, err := filepath.Glob("page/words/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var has map[string]string
		require.NoError(t, json.Unmarshal(text, &has), file)
		var wrong []string
		for sentence, where := range said {
			if translated, ok := has[sentence]; !ok || !slices.Equal(verbs(sentence), verbs(translated)) {
				wrong = append(wrong, "lacks, or has with other verbs, what "+where+" says: "+sentence)
			}
		}
		for sentence := range has {
			if said[sentence] == "" {
				wrong = append(wrong, "has what nobody says: "+sentence)
			}
		}
		slices.Sort(wrong)
		require.Empty(t, wrong, file)
		require.NotContains(t, string(text), "Ã", "%s has letters that were read as another encoding", file)
		sorted, err := json.MarshalIndent(has, "", "  ")
		require.NoError(t, err)
		require.JSONEq(t, string(sorted), string(text))
		keys := regexp.MustCompile(`(?m)^\s*"((?:[^"\\]|\\.)*)":`).FindAllStringSubmatch(string(text), -1)
		require.Len(t, keys, len(has), "%s has a sentence twice, or two in a line", file)
		require.True(t, slices.IsSortedFunc(keys, func(a, b []string) int { return strings.Compare(a[1], b[1]) }), "%s is not in order", file)
	}
}

// verbs are the places of arguments in a sentence, in order of the arguments.
func verbs(sentence string) []string {
	found := regexp.MustCompile(`%(?:\[\d+\])?[a-z]`).FindAllString(strings.ReplaceAll(sentence, "%%", ""), -1)
	for i, v := range found {
		found[i] = v[len(v)-1:]
	}
	slices.Sort(found)
	return found
}

// speakers are the functions that say their text arguments, or mark them as said later.
var speakers = map[string]bool{"T": true, "N": true, "t": true, "n": true, "Sentence": true}

func sentencesOfGo(t *testing.T, path string, said map[string]string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if speakers[f.Sel.Name] {
					literals(set, call.Args, said)
				}
			case *ast.Ident: // within package page
				if speakers[f.Name] {
					literals(set, call.Args, said)
				}
			}
		}
		return true
	})
}

func literals(set *token.FileSet, args []ast.Expr, said map[string]string) {
	for _, arg := range args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
				said[text] = set.Position(lit.Pos()).String()
			}
		}
	}
}

func sentencesOfTemplate(t *testing.T, path string, said map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	tree := parse.New(path)
	tree.Mode = parse.SkipFuncCheck
	trees := make(map[string]*parse.Tree)
	_, err = tree.Parse(string(text), "", "", trees)
	require.NoError(t, err)
	for _, tree := range slices.Collect(maps.Values(trees)) {
		walk(tree.Root, func(c *parse.CommandNode) {
			if id, ok := c.Args[0].(*parse.IdentifierNode); ok && speakers[id.Ident] {
				for _, arg := range c.Args[1:] {
					if s, ok := arg.(*parse.StringNode); ok {
						said[s.Text] = path
					}
				}
			}
		})
	}
}

// walk visits the commands of a template, also those in parentheses.
func walk(n parse.Node, visit func(*parse.CommandNode)) {
	pipe := func(p *parse.PipeNode) {
		if p == nil {
			return
		}
		for _, c := range p.Cmds {
			visit(c)
			for _, arg := range c.Args {
				walk(arg, visit)
			}
		}
	}
	branch := func(b parse.BranchNode) {
		pipe(b.Pipe)
		walk(b.List, visit)
		walk(b.ElseList, visit)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, in := range n.Nodes {
				walk(in, visit)
			}
		}
	case *parse.PipeNode:
		pipe(n)
	case *parse.ActionNode:
		pipe(n.Pipe)
	case *parse.TemplateNode:
		pipe(n.Pipe)
	case *parse.IfNode:
		branch(n.BranchNode)
	case *parse.RangeNode:
		branch(n.BranchNode)
	case *parse.WithNode:
		branch(n.BranchNode)
	}
}
