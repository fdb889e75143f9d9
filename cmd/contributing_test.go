package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
)

// change is what a toy does to a file: a new file's text, or text put behind something that stands there once.
type change struct{ behind, text string }

// toy is one thing more of a sort that CONTRIBUTING.md has a list for.
type toy struct {
	section string              // of CONTRIBUTING.md
	files   map[string][]change // by path
	tests   string              // beside TestToy, that fail if the list is not complete
	in      []string            // packages of these
}

// toys are called toy, in section operator of the site.
var toys = []toy{
	{"A task kind", map[string][]change{
		"core/school/taskkinds.go": {{"	return core.TaskKinds{\n", `		{
			Name: "toy", Title: "Count of submissions", Does: "Count what was submitted", Args: []core.TaskArg{class, assignment},
			Right: core.ActExport, Command: "assignment count", Schedulable: true, Rate: core.TaskRate{Most: 2},
		},
`}},
		"taskrunner/toy.go": {{"", `package taskrunner

import (
	"context"
	"fmt"

	"drover/core/school"
)

func count(store school.Submissions) Kind {
	return Kind{Name: "toy", Handle: func(ctx context.Context, job *Job) (End, error) {
		var args school.DeleteArgs
		if err := job.Args(&args); err != nil {
			return End{}, err
		}
		n := 0
		err := eachStanding(ctx, store, args.Class, args.Assignment, "", func(*school.Standing) error { n++; return nil })
		return End{Note: fmt.Sprintf("%d users have submitted", n)}, err
	}}
}
`}},
		"taskrunner/kinds.go": {{"	return []Kind{\n", "		count(deps.Store),\n"}},
		"taskrunner/toy_test.go": {{"", `package taskrunner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

func TestToy(t *testing.T) {
	s := newClass(t)
	s.graded("cs/hw1", "ann", 0, 1)
	end, err := s.run(count(s.store), school.DeleteArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Equal(t, "1 users have submitted", end.Note)
}
`}},
	}, "TestEveryDeclaredKindIsDone|TestTaskKindsAreDeclaredWhole", []string{"./core/school", "./taskrunner"}},
	{"A page", map[string][]change{
		"web/operator/pages/toy.html": {{"", `{{define "title"}}Toy{{end}}{{define "main"}}<h1>{{.Data}} toys</h1>{{end}}`}},
		"web/operator/toy.go": {{"", `package operator

import "drover/web/page"

func (s *pages) toy(r *page.Request) error { return r.Render("operator/toy", 3) }
`}},
		"web/operator/section.go": {{`		view("/cluster/queues", s.queues),` + "\n", `		view("/cluster/toy", s.toy),` + "\n"}},
		"web/operator/toy_test.go": {{"", `package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
)

func TestToy(t *testing.T) {
	w := newFixture(t, coretest.Mini(t))
	require.Contains(t, w.shows(t, "otto", "/cluster/toy"), "<h1>3 toys</h1>")
}
`}},
	}, "", []string{"./web/operator"}},
	{"A Lua operation", map[string][]change{
		"core/redisstore/lua/toy.lua": {{"", `-- Return whether an owner is there.
-- ARGV    1 owner
-- RETURN  1 if it is there, else 0
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
return redis.call('EXISTS', K.owner(ARGV[1]))
`}},
		"core/redisstore/toy.go": {{"", `package redisstore

import "context"

// Toy reports whether an owner is there.
func (s *Store) Toy(ctx context.Context, owner string) (bool, error) {
	reply, err := s.run(ctx, "toy", owner, owner)
	return reply == int64(1), err
}
`}},
		"core/redisstore/full_test.go": {{`readsWhenFull = "`, "toy "}},
		"core/redisstore/slow_test.go": {{"	step(func() { ok(s.SetTaskRates(ctx, nil)) })\n", `	step(func() { _, err := s.Toy(ctx, "nobody"); ok(err) })` + "\n"}},
		"core/redisstore/toy_test.go": {{"", `package redisstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToy(t *testing.T) {
	each(t, func(t *testing.T, x *suite) {
		there, err := x.Store.Toy(t.Context(), x.Runner)
		require.NoError(t, err)
		require.True(t, there)
	})
}
`}},
	}, "TestScriptHeaders|TestScriptMovesAreTheTable|TestScriptsParseAsLua51", []string{"./core/redisstore"}},
	{"A command", map[string][]change{
		"cmd/drover/operator/toy.go": {{"", `package operator

import (
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
)

// ToyCommand is drover toy.
func ToyCommand() *cli.Command {
	return &cli.Command{Name: "toy", Usage: "say that this is one", Action: func(c *cli.Context) error { return terminal.Say(c, 1, "a toy") }}
}
`}},
		"cmd/drover/main.go": {{"	return []*cli.Command{\n", "		operator.ToyCommand(),\n"}},
		"cmd/drover/toy_test.go": {{"", `package main

import "testing"

func TestToy(t *testing.T) {
	if commands()[0].Name != "toy" {
		t.Error("there is no command toy")
	}
}
`}},
	}, "", []string{"./cmd/drover"}},
	{"An API operation", map[string][]change{
		"web/api/toy.go": {{"", `package api

import (
	"context"

	"drover/core"
	"drover/core/school"
)

func toyTable() []entry {
	return []entry{is(Operation{"countToys", get, "/toys", "", school.ScopeRead, 0, "Count the toys"}, (*server).countToys)}
}

func (s *server) countToys(context.Context, core.Actor, *nothing) (*answer[int], error) { return answered(3, nil) }
`}},
		"web/api/operation.go":   {{"	return slices.Concat(\n", "		toyTable(),\n"}},
		"web/api/matrix_test.go": {{"	return map[string]sample{\n", `		"countToys": {},` + "\n"}},
	}, "TestEveryOperationChecksItsRight|TestDescriptionIsWhole", []string{"./web/api"}},
	{"A provider", map[string][]change{
		"vmfactory/toy/toy.go": {{"", `// Package toy makes VMs as provider local does.
package toy

import "drover/vmfactory/local"

// Name is what a pool's provider setting says.
const Name = "toy"

// Provider makes VMs.
type Provider struct{ *local.Provider }

// New returns a provider.
func New(cfg local.Config) (Provider, error) {
	p, err := local.New(cfg)
	return Provider{p}, err
}

// Name implements vmfactory.Provider.
func (Provider) Name() string { return Name }
`}},
		"core/provider.go": {{"	return []ProviderKind{", `{Name: "toy"}, `}},
		"cmd/drover/wiring/providers.go": {{`	"drover/vmfactory/lxc"` + "\n", `	"drover/vmfactory/toy"` + "\n"}, {"		switch name {\n", `		case toy.Name:
			one, err := toy.New(local.Config{Run: cfg.Run})
			if err != nil {
				return p, err
			}
			p.All = append(p.All, one)
`}},
		"vmfactory/toy/conformance_test.go": {{"", `package toy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/vmfactory"
	"drover/vmfactory/local"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/attack"
	"drover/vmfactory/providertest/programs"
)

func newToy(t *testing.T, run string) vmfactory.Provider {
	t.Helper()
	p, err := New(local.Config{Run: run, Agent: programs.Agent(t)})
	require.NoError(t, err)
	return p
}

func TestConformance(t *testing.T) { providertest.Run(t, newToy) }

func TestAttacks(t *testing.T) { attack.Run(t, newToy, attack.Toy) }

func TestToy(t *testing.T) {
	require.Equal(t, Provider{}.Name(), core.DefaultPool("p").Provider)
	require.NoError(t, core.CheckProvider(Name))
	require.Equal(t, Name, attack.Columns()[0].Title)
}
`}},
		"vmfactory/providertest/attack/toy.go": {{"", `package attack

// Toy is the provider toy.
var Toy = Column{Title: "toy"}
`}},
		"vmfactory/providertest/attack/attack.go": {{"func Columns() []Column { return []Column{", "Toy, "}},
	}, "", nil},
}

// lists are the files that CONTRIBUTING.md lists, by section.
func lists(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	all := map[string][]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S").FindAllStringSubmatch(section, -1) {
			all[title] = append(all[title], row[1])
		}
	}
	return all
}

// overlay writes the files of all toys beside the tree, and says to go where they belong.
func overlay(t *testing.T) string {
	t.Helper()
	texts := map[string]string{}
	for _, one := range toys {
		for name, changes := range one.files {
			for _, c := range changes {
				if c.behind == "" {
					require.NotContains(t, texts, name)
					texts[name] = c.text
					continue
				}
				if _, changed := texts[name]; !changed {
					had, err := os.ReadFile(filepath.Join(root, name))
					require.NoError(t, err)
					texts[name] = string(had)
				}
				require.Equal(t, 1, strings.Count(texts[name], c.behind), "%s has %q once", name, c.behind)
				texts[name] = strings.Replace(texts[name], c.behind, c.behind+c.text, 1)
			}
		}
	}
	dir, replace := t.TempDir(), map[string]string{}
	at, err := filepath.Abs(root)
	require.NoError(t, err)
	for name, text := range texts {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		replace[filepath.Join(at, name)] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	return file
}

// A toy of each sort has the files that are listed and no others.
func TestToysHaveTheFilesOfTheLists(t *testing.T) {
	t.Parallel()
	listed := lists(t)
	for _, one := range toys {
		require.Len(t, listed[one.section], len(one.files), one.section)
		for _, name := range listed[one.section] {
			name = strings.NewReplacer("SECTION", "operator", "NAME", "toy").Replace(name)
			require.Contains(t, one.files, name, one.section)
		}
	}
}

// With these files they work. All are added at once: what depends on core, which is nearly everything, is built once.
func TestToysFromTheLists(t *testing.T) {
	tier.OnlyInAll(t, tier.Long)
	t.Parallel()
	with, program := overlay(t), filepath.Join(t.TempDir(), "toy.test")
	tests, in := []string{"TestToy"}, []string{}
	for _, one := range toys {
		if one.tests != "" {
			tests = append(tests, one.tests)
		}
		in = append(in, one.in...)
	}
	for _, call := range [][]string{
		slices.Concat([]string{"go", "test", "-overlay", with, "-vet=off", "-ldflags=-w", "-run", "^(" + strings.Join(tests, "|") + ")$"}, in),
		// The provider's folder is not there to run a test in.
		{"go", "test", "-overlay", with, "-vet=off", "-ldflags=-w", "-c", "-o", program, "./vmfactory/toy"},
		{program, "-test.run=^TestToy$"},
	} {
		run := exec.CommandContext(t.Context(), call[0], call[1:]...)
		run.Dir = root
		run.Env = append(os.Environ(), "CGO_ENABLED=0") // as most is built that can be used again
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s\n%s", strings.Join(call, " "), out)
	}
}

// A real provider takes more than the toy, which is another in disguise: the last one is in all of the files, too.
func TestListOfAProviderIsThatOfTheLast(t *testing.T) {
	t.Parallel()
	listed := lists(t)["A provider"]
	require.NotEmpty(t, listed)
	for _, name := range listed {
		text, err := os.ReadFile(filepath.Join(root, strings.ReplaceAll(name, "NAME", "lxc")))
		require.NoError(t, err)
		require.Regexp(t, `(?i)\blxc\b`, string(text), name)
	}
	for _, s := range sources(t) {
		names := false
		for _, imported := range s.imports() {
			names = names || imported == module+"/vmfactory/lxc"
		}
		if names && !s.test && !under(s.folder, "vmfactory/lxc") {
			require.Contains(t, listed, s.path, "it makes the provider")
		}
	}
}
