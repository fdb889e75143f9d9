package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// promisesOfHelp are the sentences of helps that say "never", each with the tests that hold it.
var promisesOfHelp = map[string][]string{
	"fail never runs it twice":                                        {"TestRunOnceMeansOnce", "TestWhatMustNotRunTwice"},
	"fail never runs one twice":                                       {"TestRunOnceMeansOnce"},
	"make a webhook and print its secret, which is never shown again": {"TestASecretIsShownOnce"},
}

// saysNothing are sentences of helps in which "never" is no promise.
var saysNothing = []string{"students who never signed in", "0 for never"}

var testName = regexp.MustCompile("`(Test\\w+)`")

// Each guarantee that docs/architecture.md gives is a row that names tests, and these are there.
func TestGuaranteesNameTheirTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Guarantees\n")
	require.True(t, found)
	section, rest, found := strings.Cut(section, "\nWhat is *not* promised")
	require.True(t, found)
	_, rest, _ = strings.Cut(rest, "\n\n")
	require.True(t, strings.HasPrefix(rest, "## "), "after what is not promised: a guarantee outside of the table has no test")
	all := testsOfTheTree(t)
	rows := 0
	for _, line := range strings.Split(section, "\n") {
		switch {
		case line == "", line == "|---|---|", line == "| promise | held by |", strings.HasSuffix(line, ":"):
			continue
		}
		names := testName.FindAllStringSubmatch(line, -1)
		if !strings.HasPrefix(line, "| ") || names == nil {
			t.Errorf("this guarantee is no row that names a test: %s", line)
		}
		for _, name := range names {
			require.Contains(t, all, name[1], line)
		}
		rows++
	}
	require.Greater(t, rows, 10)
}

// A help that says what never happens has a test that holds it.
func TestPromisesOfHelpNameTheirTests(t *testing.T) {
	t.Parallel()
	never := regexp.MustCompile(`(?i)\bnever\b`)
	all, said := testsOfTheTree(t), map[string]bool{}
	for _, text := range textsOfHelp() {
		for _, clause := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".;:\n", r) }) {
			clause = strings.TrimSpace(clause)
			if !never.MatchString(clause) || containsAny(clause, saysNothing) {
				continue
			}
			found := false
			for promise, tests := range promisesOfHelp {
				if !strings.Contains(clause, promise) {
					continue
				}
				found, said[promise] = true, true
				for _, name := range tests {
					require.Contains(t, all, name, promise)
				}
			}
			if !found {
				t.Errorf("a help promises %q: name the test that holds it in promisesOfHelp", clause)
			}
		}
	}
	for promise := range promisesOfHelp {
		require.True(t, said[promise], "no help says %q any more", promise)
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// textsOfHelp returns what the helps of all commands say.
func textsOfHelp() []string {
	var all []string
	var read func(cmd *cli.Command)
	read = func(cmd *cli.Command) {
		all = append(all, cmd.Usage, cmd.Description)
		for _, f := range cmd.Flags {
			if d, is := f.(cli.DocGenerationFlag); is {
				all = append(all, d.GetUsage())
			}
		}
		for _, sub := range cmd.Subcommands {
			read(sub)
		}
	}
	for _, cmd := range commands() {
		read(cmd)
	}
	return all
}

// testsOfTheTree returns the names of all tests.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "../.." && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, name := range declared.FindAllSubmatch(source, -1) {
			all[string(name[1])] = true
		}
		return err
	}))
	return all
}
