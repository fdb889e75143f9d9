package cases

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"drover/core"
	"drover/core/agent/wire"
)

// Defaults of missing keys.
const (
	defaultTime   = 2 * time.Second
	defaultBuild  = 30 * time.Second
	wallTimes     = 5 // the clock may show so many times the time of computing: hosts are busy
	wallMore      = 10 * time.Second
	defaultOutput = 1 << 20
)

// Folder is the folder that contains a cases.yaml.
type Folder interface {
	// Size is a plain file's, in bytes; false if there is none.
	Size(path string) (int64, bool)
	// Names are those of all plain files, sorted.
	Names() []string
}

// Parse reads a cases.yaml. It returns an INVALID error that names the line.
func Parse(raw []byte, folder Folder) (*Plan, error) {
	p := &parser{folder: folder, plan: &Plan{}}
	err := p.whole(raw)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "", "%s", err)
	}
	return p.plan, nil
}

type parser struct {
	folder Folder
	plan   *Plan
	tests  int
}

// defaults are the values that a test inherits from the file or its group.
type defaults struct {
	run     Command
	env     []string
	compare Compare
	limits  Limits
	hidden  bool
	final   bool
	points  float64
	message string
	checker Command // more arguments
}

func (p *parser) whole(raw []byte) error {
	doc, err := document(raw)
	if err != nil {
		return err
	}
	d := defaults{compare: Compare{By: Trimmed}, points: 1}
	// Inherited values must be known before the tests, wherever they are in the file.
	var tests, groups *yaml.Node
	later := func(into **yaml.Node) field {
		return func(n *yaml.Node) error {
			*into = n
			return nil
		}
	}
	fields := d.fields(p)
	for key, read := range map[string]field{
		"timeout": span(&p.plan.Timeout), "files": p.paths(&p.plan.Files), "build": commands(&p.plan.Build),
		"build_cache": truth(&p.plan.BuildCache), "build_limits": p.limits(&p.plan.BuildLimits), "checker": p.checker("checker", &p.plan.Checker), "interactor": p.checker("interactor", &p.plan.Interactor), "grader": p.checker("grader", &p.plan.Grader),
		"tests": later(&tests), "groups": later(&groups), "factors": factors(&p.plan.Factors),
	} {
		fields[key] = read
	}
	if err := mapping(doc, File, fields); err != nil {
		return err
	}
	if p.plan.BuildCache && len(p.plan.Build) == 0 {
		return fmt.Errorf("%s has build_cache and no build: nothing is built, so nothing can be kept", File)
	}
	p.plan.BuildLimits = p.plan.BuildLimits.filled(defaultBuild)
	if tests != nil {
		g := Group{}
		if err := p.group(&g, tests, d); err != nil {
			return err
		}
		p.plan.Groups = append(p.plan.Groups, g)
	}
	if groups != nil {
		if err := list(MaxTests, func(n *yaml.Node) error { return p.named(n, d) })(groups); err != nil {
			return err
		}
	}
	if p.tests == 0 {
		return fmt.Errorf("%s has no tests", File)
	}
	if len(p.plan.Public().Groups) == 0 {
		return fmt.Errorf("%s has tests for final submissions only: public ones need a test as well", File)
	}
	return nil
}

// fields are those that the file, a group and a test share.
func (d *defaults) fields(p *parser) map[string]field {
	return map[string]field{
		"run": command(&d.run), "env": environment(&d.env), "compare": d.compare.read, "limits": p.limits(&d.limits),
		"visibility": visibility(&d.hidden), "message": text(&d.message), "when": when(&d.final),
		"checker_args": func(n *yaml.Node) error {
			d.checker = nil
			return list(MaxArgs, func(n *yaml.Node) error { return word(n, &d.checker) })(n)
		},
	}
}

// named reads one of the groups.
func (p *parser) named(n *yaml.Node, d defaults) error {
	var g Group
	var tests *yaml.Node
	var points float64
	d.env = slices.Clone(d.env)
	fields := d.fields(p)
	fields["name"], fields["stop"] = name(&g.Name), truth(&g.Stop)
	fields["points"] = func(n *yaml.Node) error {
		g.Points = &points
		return number(&points, 0, 1e6)(n)
	}
	fields["award"] = func(n *yaml.Node) error {
		var how string
		err := oneOf(&how, "all", "least")(n)
		g.Least = how == "least"
		return err
	}
	fields["needs"] = list(MaxTests, func(n *yaml.Node) error {
		s, err := scalar(n)
		if err == nil && !slices.ContainsFunc(p.plan.Groups, func(g Group) bool { return g.Name == s && s != "" }) {
			err = wrong(n, "no group before this one is called %q", shorten(s))
		}
		g.Needs = append(g.Needs, s)
		return err
	})
	fields["tests"] = func(n *yaml.Node) error {
		tests = n
		return nil
	}
	if err := mapping(n, "a group", fields); err != nil {
		return err
	}
	switch {
	case g.Name == "":
		return wrong(n, "this group has no name")
	case slices.ContainsFunc(p.plan.Groups, func(o Group) bool { return o.Name == g.Name }):
		return wrong(n, "another group is called %q, too", g.Name)
	case g.Least && g.Points == nil:
		return wrong(n, "the group %q awards the least share of its points, and has none", g.Name)
	case tests == nil:
		return wrong(n, "the group %q has no tests", g.Name)
	}
	if err := p.group(&g, tests, d); err != nil {
		return err
	}
	p.plan.Groups = append(p.plan.Groups, g)
	return nil
}

// group reads the tests of a group.
func (p *parser) group(g *Group, tests *yaml.Node, d defaults) error {
	err := list(MaxTests, func(n *yaml.Node) error { return p.test(g, n, d) })(tests)
	if err != nil {
		return err
	}
	if len(g.Tests) == 0 {
		return wrong(tests, "there are no tests here")
	}
	for i := range g.Tests {
		t := &g.Tests[i]
		if t.OutOf = t.Points; g.Points != nil {
			t.OutOf, t.Points = *g.Points, *g.Points/float64(len(g.Tests))
		}
	}
	return nil
}

// test reads one test, or the tests that a pattern of file names stands for.
func (p *parser) test(g *Group, n *yaml.Node, d defaults) error {
	t := Test{Group: g.Name}
	var from string
	var args Command
	exit, anyExit, compared := 0, false, false
	d.env = slices.Clone(d.env)
	fields := d.fields(p)
	for key, read := range map[string]field{
		"name": name(&t.Name), "input": p.content(&t.Input), "files": p.placed(&t.Files), "from": text(&from),
		"args": list(MaxArgs, func(n *yaml.Node) error { return word(n, &args) }),
		"compare": func(n *yaml.Node) error {
			compared = true
			return d.compare.read(n)
		},
		"output": func(n *yaml.Node) error {
			t.Output = &Content{}
			return p.content(t.Output)(n)
		},
		"exit": func(n *yaml.Node) error {
			if s, err := scalar(n); err == nil && s == "any" {
				anyExit = true
				return nil
			}
			return integer(&exit, 0, 255)(n)
		},
		"points": func(n *yaml.Node) error {
			if g.Points != nil {
				return wrong(n, "the group %q has points, so its tests have none of their own", g.Name)
			}
			return number(&d.points, 0, 1e6)(n)
		},
	} {
		fields[key] = read
	}
	if err := mapping(n, "a test", fields); err != nil {
		return err
	}
	if d.run == nil {
		return wrong(n, "this test has nothing to run: give it, or the whole file, a run")
	}
	if t.Run = d.run; len(args) > 0 {
		t.Run = d.run.with(args)
	}
	if !anyExit {
		t.Exit = &exit
	}
	t.CheckerArgs = d.checker
	t.Env, t.Limits, t.Hidden, t.Final, t.Message, t.Points, t.Compare = last(d.env), d.limits.filled(defaultTime), d.hidden, d.final, d.message, d.points, d.compare
	if compared && t.Output == nil && from == "" && !t.Compare.byProgram() {
		return wrong(n, "this test has no output to compare with")
	}
	if from != "" {
		return p.from(g, n, t, from)
	}
	return p.add(g, n, t)
}

// with adds arguments to a command; for the shell they are $1 and so on.
func (c Command) with(args Command) Command {
	all := slices.Clone(c)
	if len(c) == 3 && c[0] == "/bin/sh" && c[1] == "-c" {
		all[2] += ` "$@"`
		all = append(all, "sh")
	}
	return append(all, args...)
}

// last keeps the last of several variables with one name.
func last(env []string) []string {
	var out []string
	for i, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(env[i+1:], func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, v)
		}
	}
	return out
}

// from makes a test of each input file that matches a pattern; the expected output is in the file beside it.
func (p *parser) from(g *Group, n *yaml.Node, t Test, pattern string) error {
	if t.Name != "" || t.Input != (Content{}) || t.Output != nil {
		return wrong(n, "a test with from has no name, input or output: files give them")
	}
	found := 0
	for _, at := range p.folder.Names() {
		ok, err := path.Match(pattern, at)
		if err != nil {
			return wrong(n, "%q is no pattern of file names", shorten(pattern))
		}
		if !ok {
			continue
		}
		stem := strings.TrimSuffix(at, path.Ext(at))
		one := t
		one.Name, one.Input = path.Base(stem), Content{Path: at}
		for _, ext := range []string{".out", ".ans", ".a"} {
			if _, there := p.folder.Size(stem + ext); there && stem+ext != at {
				one.Output = &Content{Path: stem + ext}
			}
		}
		if one.Output == nil {
			return wrong(n, "%s has no %s.out, .ans or .a beside it", at, stem)
		}
		if err := p.add(g, n, one); err != nil {
			return err
		}
		found++
	}
	if found == 0 {
		return wrong(n, "no file of the harness folder matches %q", shorten(pattern))
	}
	return nil
}

// add checks a test and puts it into its group.
func (p *parser) add(g *Group, n *yaml.Node, t Test) error {
	if p.tests++; p.tests > MaxTests {
		return wrong(n, "there are more than %d tests", MaxTests)
	}
	if t.Name == "" {
		t.Name = "test " + strconv.Itoa(len(g.Tests)+1)
	}
	if slices.ContainsFunc(g.Tests, func(o Test) bool { return o.Name == t.Name }) {
		return wrong(n, "another test is called %q, too", t.Name)
	}
	switch {
	case t.Compare.By == Check && p.plan.Checker == nil:
		return wrong(n, "the test %q is for a checker, and the file has none", t.Name)
	case t.Compare.By == Interact && p.plan.Interactor == nil:
		return wrong(n, "the test %q is for an interactor, and the file has none", t.Name)
	case t.Output == nil && t.Exit == nil && !t.Compare.byProgram():
		return wrong(n, "the test %q expects neither an output nor an exit code: nothing could fail it", t.Name)
	}
	if t.Output != nil {
		if err := p.expected(n, &t); err != nil {
			return err
		}
	}
	g.Tests = append(g.Tests, t)
	return nil
}

func (p *parser) expected(n *yaml.Node, t *Test) error {
	if t.Output.Path != "" {
		if size, _ := p.folder.Size(t.Output.Path); size > MaxExpected {
			return wrong(n, "%s has %d bytes; an expected output has at most %d", t.Output.Path, size, MaxExpected)
		}
		return nil
	}
	if t.Compare.By != Regex {
		return nil
	}
	pattern, err := t.Compare.compile(t.Output.Text)
	if err != nil {
		return wrong(n, "the expected output of %q is no pattern: %s", t.Name, err)
	}
	t.Compare.pattern = pattern
	return nil
}

// when reads for which submissions a test is.
func when(final *bool) field {
	return func(n *yaml.Node) error {
		var s string
		err := oneOf(&s, "always", "final")(n)
		*final = s == "final"
		return err
	}
}

func visibility(hidden *bool) field {
	return func(n *yaml.Node) error {
		var s string
		err := oneOf(&s, "public", "hidden")(n)
		*hidden = s == "hidden"
		return err
	}
}

func (p *parser) limits(into *Limits) field {
	return func(n *yaml.Node) error {
		return mapping(n, "limits", map[string]field{
			"time": span(&into.Time), "wall": span(&into.Wall), "memory": size(&into.Memory), "output": size(&into.Output),
			"pids": integer(&into.Pids, 1, 1<<20),
		})
	}
}

// filled derives limits that are not set from those that are.
func (l Limits) filled(most time.Duration) Limits {
	if l.Time == 0 {
		l.Time = most
	}
	if l.Wall == 0 {
		l.Wall = min(wallTimes*l.Time+wallMore, core.MaxTimeout)
	}
	if l.Output == 0 {
		l.Output = defaultOutput
	}
	return l
}

// paths reads files and folders of the harness folder; a folder stands for all files below it.
func (p *parser) paths(into *[]string) field {
	return list(MaxTests, func(n *yaml.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		s = strings.TrimSuffix(s, "/")
		if _, there := p.folder.Size(s); there {
			*into = append(*into, s)
			return nil
		}
		before := len(*into)
		for _, at := range p.folder.Names() {
			if strings.HasPrefix(at, s+"/") {
				*into = append(*into, at)
			}
		}
		if len(*into) == before {
			return wrong(n, "the harness folder has no file %q", shorten(s))
		}
		return nil
	})
}

// content reads a text, or {file: path}.
func (p *parser) content(into *Content) field {
	return func(n *yaml.Node) error {
		if target(n).Kind == yaml.ScalarNode {
			return text(&into.Text)(n)
		}
		err := mapping(n, "a content that is no text", map[string]field{"file": text(&into.Path)})
		if err != nil {
			return err
		}
		if _, there := p.folder.Size(into.Path); !there {
			return wrong(n, "the harness folder has no file %q", shorten(into.Path))
		}
		return nil
	}
}

func (p *parser) placed(into *[]Placed) field {
	return func(n *yaml.Node) error {
		m := target(n)
		if m.Kind != yaml.MappingNode || len(m.Content) > 2*MaxTests {
			return wrong(n, "files must be a mapping path: content")
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			f := Placed{At: m.Content[i].Value}
			if err := wire.CheckName(f.At); err != nil {
				return wrong(m.Content[i], "%s", err)
			}
			if slices.ContainsFunc(*into, func(o Placed) bool { return o.At == f.At }) {
				return wrong(m.Content[i], "%q is given twice", f.At)
			}
			if err := p.content(&f.Content)(m.Content[i+1]); err != nil {
				return err
			}
			*into = append(*into, f)
		}
		return nil
	}
}
