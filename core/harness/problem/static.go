package problem

import (
	"slices"

	"drover/core/harness/cases"
)

// The files of a harness folder with a static validator.
const (
	staticDir    = "drover-static"
	archiveFile  = "drover-archive"
	languageFile = "drover-language" // in which language a submission is, and where it starts: one a line
)

// staticName is the name of the test that a static validator decides, first of its group.
const staticName = "static validation"

// static is what a folder of tests says of the static validator.
type static struct {
	asked  bool
	whole  bool // the test is passed or not, and has no points of its own
	points float64
	args   []string
	at     entry
}

// staticScore reads static_validation_score.
func (p *Problem) staticScore(s *static, e entry) {
	switch {
	case p.Answers:
		p.bad(e, "a submit-answer problem has no static validation: there is no program")
		return
	case p.Static == "":
		p.bad(e, "there is no static validator in the folder static_validator")
		return
	}
	s.asked, s.at = true, e
	if s.whole = p.text(e) == "pass-fail"; !s.whole {
		s.points = p.number(e, 0, 1e6)
	}
}

// staticTest puts the test of the static validator before the others of a folder.
func (p *Problem) staticTest(c *newConfig, tests []Test) []Test {
	s := &c.static
	if !s.asked {
		if len(s.args) > 0 {
			p.bad(s.at, "there is no static_validation_score beside it")
		}
		return tests
	}
	return slices.Insert(tests, 0, Test{Name: staticName, Static: true, Scores: !s.whole, Points: s.points, flags: flags{words: s.args}})
}

// staticFits refuses points of static validation that the group's cannot hold.
func (p *Problem) staticFits(c *newConfig) {
	s := &c.static
	switch {
	case !s.asked:
	case s.whole && p.Scoring && c.aggregation != "pass-fail":
		p.bad(s.at, "pass-fail is for groups with this score_aggregation; here it is %s: give a number", c.aggregation)
	case s.whole:
	case !p.Scoring || c.aggregation != "sum":
		p.bad(s.at, "points are for groups with score_aggregation: sum; say pass-fail")
	case s.points > c.score:
		p.bad(s.at, "the group has at most %g points", c.score)
	}
}

// staticOfSecret makes the static validation of secret a group of its own where secret has groups, and returns what all of
// them need: none counts without a static validation that has no points.
func (p *Problem) staticOfSecret(secret *newConfig) []string {
	s := secret.static
	tests := p.staticTest(secret, nil)
	if len(tests) == 0 {
		return secret.needs
	}
	own := newConfig{score: s.points, aggregation: "sum", needs: secret.needs, static: s}
	if s.whole {
		own.aggregation = "pass-fail"
	}
	p.newGroup("secret", own, tests)
	if !s.whole {
		return secret.needs
	}
	return append(slices.Clone(secret.needs), "secret")
}

// staticChecker writes the static validator, and adds it to the harness's checker.
func (w *writer) staticChecker(file map[string]any) {
	p := w.p
	if !slices.ContainsFunc(p.Groups, func(g Group) bool { return slices.ContainsFunc(g.Tests, func(t Test) bool { return t.Static }) }) {
		return
	}
	w.text(archiveFile, archiveScript)
	files, _ := file["files"].([]string)
	file["files"] = append(files, archiveFile)
	is, both := file[cases.Check].(map[string]any)
	if !both {
		is = w.validators(false)
		file[cases.Check] = is
	}
	w.built(is, p.Static, staticDir)
}

// archived is the test of a static validator: its output is the submission.
func (w *writer) archived(g *Group, t *Test) map[string]any {
	is := map[string]any{"name": t.Name, "run": []string{"sh", archiveFile}, "compare": cases.Check, "checker_args": t.checker, "visibility": "hidden"}
	if g.Points == nil {
		is["points"] = t.Points
	}
	return is
}

const archiveScript = `#!/bin/sh
# Prints the submission as an archive, for the static validator: it runs where nothing of the submission is left.
exec tar -cf - --exclude=./drover-build --exclude=./drover-include --exclude=./drover-archive --exclude=./drover-program --exclude=./run .
`

// staticText is the beginning of the script that runs validators: it runs the static one if the points begin with "static:".
const staticText = `case $3 in
static:*)
	echo "${3#static:}" >most
	shift 3
	mkdir -p feedback submission && tar -xf output -C submission || exit 99
	{
		read -r language
		read -r entry
	} <submission/` + languageFile + `
	rm -f submission/` + languageFile + `
	feedback=$PWD/feedback/
	cd submission || exit 99
	../` + staticDir + `/run "$language" "$entry" "$feedback" "$@" >../said 2>&1 </dev/null
	set -- $?
	cd .. || exit 99
	. ./` + verdictFile + `
	;;
esac
`
