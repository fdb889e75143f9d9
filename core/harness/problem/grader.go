package problem

import (
	"fmt"
	"slices"
	"strings"
)

// The files of a harness folder with a grader.
const (
	gradeFile   = "drover-grade"
	treeFile    = "drover-tree"
	defaultFile = "drover-default"
	graderDir   = "drover-grader"
)

// node is a folder of tests whose result a grader computes, from those of its tests and folders.
type node struct {
	name  string // its path, with a / at the end
	own   bool   // by the package's grader
	goOn  bool   // results after one that is not accepted count
	flags []string
	of    []string // tests and folders, in order

	reject float64 // points of a test that is rejected
}

// most is the most that the default grader can make of the most that tests and folders have.
func (n *node) most(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	switch {
	case slices.Contains(n.flags, "avg"):
		return sum / float64(len(of))
	case slices.Contains(n.flags, "min"):
		return slices.Min(of)
	case slices.Contains(n.flags, "max"):
		return slices.Max(of)
	}
	return sum
}

// gradedData reads the data of a problem with a grader: all tests run, and the grader gets what counts.
func (p *Problem) gradedData() error {
	root := legacyConfig{accept: 1, own: p.custom}
	root, err := p.legacyConfig("data", root)
	if err != nil {
		return err
	}
	whole := node{name: "./", own: root.own, goOn: root.goOn, flags: root.grader}
	var most []float64
	for _, folder := range []string{"sample", "secret"} {
		if len(p.below("data/"+folder)) == 0 {
			continue
		}
		its, err := p.gradedFolder(folder, root)
		if err != nil {
			return err
		}
		if most = append(most, its); folder == "secret" && slices.Contains(whole.flags, "ignore_sample") {
			most = []float64{its}
		}
		whole.of = append(whole.of, folder+"/")
	}
	p.nodes = append(p.nodes, whole)
	secret, err := p.legacyConfig("data/secret", root)
	if p.outOf = root.most; p.outOf == 0 {
		p.outOf = secret.most
	}
	if p.outOf == 0 && p.Grader == "" {
		p.outOf = whole.most(most)
	}
	if p.outOf == 0 {
		p.refuse("data/testdata.yaml", 0, "range: a problem with a grader needs one with an upper end, out of which points are shown")
	}
	return err
}

// gradedFolder reads a folder of tests and those in it, and returns the most points that the default grader can give it.
func (p *Problem) gradedFolder(folder string, parent legacyConfig) (float64, error) {
	parent.grader = slices.DeleteFunc(slices.Clone(parent.grader), func(flag string) bool { return flag == "ignore_sample" }) // of the root
	c, err := p.legacyConfig("data/"+folder, parent)
	if err != nil {
		return 0, err
	}
	p.worst = p.worst || c.goOn && p.Grader == "" && !slices.Contains(c.grader, "first_error")
	var most []float64
	like := Test{Points: c.accept, flags: c.flags, inputs: c.inputs}
	if like.Scores = p.scores.key != ""; like.Scores {
		if like.Points = c.most; c.most == 0 {
			p.refuse("data/"+folder, 0, "the validator computes points of its tests, which need a range up to a number")
		}
	}
	n := node{name: folder + "/", own: c.own, goOn: c.goOn, flags: c.grader, reject: c.reject}
	tests := p.tests("data/"+folder, false, like)
	if len(tests) > 0 {
		p.Groups = append(p.Groups, Group{Name: folder, Sample: strings.HasPrefix(folder+"/", "sample/"), Stop: !c.goOn && p.scores.key == "", Tests: tests})
	}
	for _, name := range p.children("data/" + folder) {
		stem, is := strings.CutSuffix(name, ".in")
		switch {
		case is && slices.ContainsFunc(tests, func(t Test) bool { return t.Name == stem }):
			n.of, most = append(n.of, folder+"/"+stem), append(most, max(like.Points, c.reject))
		case p.has("data/"+folder+"/"+name) || strings.HasSuffix(name, ".files"):
		default:
			its, err := p.gradedFolder(folder+"/"+name, c)
			if err != nil {
				return 0, err
			}
			n.of, most = append(n.of, folder+"/"+name+"/"), append(most, its)
		}
	}
	p.nodes = append(p.nodes, n)
	return n.most(most), nil
}

// grader writes what computes the points.
func (w *writer) grader() map[string]any {
	var tree strings.Builder
	for _, n := range w.p.nodes {
		how, stop := "default", "break"
		if n.own {
			how = "own"
		}
		if n.goOn {
			stop = "continue"
		}
		fmt.Fprintf(&tree, "%s|%s|%s|%s|%s|%s\n", n.name, how, stop, number(n.reject), strings.Join(n.flags, " "), strings.Join(n.of, " "))
	}
	w.text(treeFile, tree.String())
	w.text(gradeFile, gradeScript)
	w.text(defaultFile, defaultGrader)
	files, build := []string{treeFile, gradeFile, defaultFile}, []any{}
	if w.p.Grader != "" {
		w.text(buildFile, buildScript(w.p.Languages))
		files = append(append(files, buildFile), w.program(w.p.Grader, graderDir)...)
		build = append(build, []string{"sh", buildFile, graderDir, "own"})
	}
	limits := map[string]any{"time": w.p.Limits.Check.String()}
	if w.p.Limits.CheckMemory > 0 {
		limits["memory"] = w.p.Limits.CheckMemory
	}
	is := map[string]any{"files": files, "run": []string{"sh", gradeFile}, "limits": limits, "points": w.p.outOf}
	if len(build) > 0 {
		is["build"] = build
	}
	return is
}

const gradeScript = `#!/bin/sh
# Computes the result of each folder of tests, those below first, by the grader that it has. A line of the tree has the
# folder, its grader, whether results after a rejected one count, the points of a rejected test, flags, and tests and
# folders.
set -f
cat >results
while IFS='|' read -r node how stop reject flags children; do
	: >sub
	for child in $children; do
		line=$(awk -v name="$child" -v reject="$reject" '
			$1 == name { print $2, (reject != 0 && $2 != "AC" && name !~ /\/$/ ? reject : $3); exit }' results)
		[ -n "$line" ] || continue
		echo "$line" >>sub
		case $line in
		"AC "*) ;;
		*) [ "$stop" = continue ] || break ;;
		esac
	done
	[ -s sub ] || continue
	if [ "$how" = own ]; then
		./` + graderDir + `/run $flags <sub >said || { echo "the grader failed for $node" >&2; exit 1; }
	else
		sh ./` + defaultFile + ` $flags <sub >said || exit 1
	fi
	awk -v node="$node" '
		{ for (i = 1; i <= NF; i++) word[++n] = $i }
		END {
			if (n != 2 || word[1] !~ /^(AC|WA|RTE|TLE)$/ || word[2] !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/) exit 1
			print node, word[1], (word[1] == "AC" ? word[2] : 0)
		}' said >>results || { echo "the grader does not print a verdict and points for $node" >&2; head -c 200 said >&2; exit 1; }
done <` + treeFile + `
awk '$1 == "./" { print $2, $3 }' results
`

const defaultGrader = `#!/bin/sh
# The default grader of the legacy format.
awk -v flags="$*" '
{ verdict[++n] = $1; score[n] = $2 }
END {
	mode = "worst_error"; how = "sum"
	k = split(flags, flag, " ")
	for (i = 1; i <= k; i++) {
		if (flag[i] ~ /^(worst_error|first_error|always_accept)$/) mode = flag[i]
		if (flag[i] ~ /^(sum|avg|min|max)$/) how = flag[i]
		if (flag[i] == "ignore_sample") ignore = 1
		if (flag[i] == "accept_if_any_accepted") any = 1
	}
	if (ignore && n > 1) { print verdict[2], score[2]; exit }
	said = "AC"
	rank["RTE"] = 3; rank["TLE"] = 2; rank["WA"] = 1; rank["AC"] = 0
	for (i = 1; i <= n; i++) {
		if (verdict[i] == "AC") accepted = 1
		if (mode == "first_error" ? said == "AC" : rank[verdict[i]] > rank[said]) said = verdict[i]
		sum += score[i]
		if (i == 1 || score[i] < least) least = score[i]
		if (i == 1 || score[i] > most) most = score[i]
	}
	if (mode == "always_accept" || any && accepted) said = "AC"
	points = how == "sum" ? sum : how == "avg" ? sum / n : how == "min" ? least : most
	printf "%s %.10g\n", said, points
}'
`
