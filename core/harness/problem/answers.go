package problem

import (
	"path"
	"strings"
)

// answerFile is the file of a harness folder that takes the place of a program where submissions are answers.
const answerFile = "drover-answer"

// answerScript prints the answer to a test, whose names are its arguments. A missing answer is an empty one.
const answerScript = `#!/bin/sh
for name; do
	for file in "$name.ans" "$name.out" "$name.txt" "$name"; do
		[ ! -f "$file" ] || exec cat "./$file"
	done
done
echo "the submission has no answer to this test: a file $1.ans" >&2
`

// answersOf are the names, without suffix, of the file with a test's answer: its path below data, and its name alone if no
// other test has it.
func (p *Problem) answersOf(t *Test) []string {
	whole := strings.TrimSuffix(strings.TrimPrefix(t.Input, "data/"), ".in")
	for i := range p.Groups {
		for j := range p.Groups[i].Tests {
			if o := &p.Groups[i].Tests[j]; o.Input != t.Input && path.Base(o.Input) == path.Base(t.Input) {
				return []string{whole}
			}
		}
	}
	return []string{path.Base(whole), whole}
}

// answers checks what a problem has whose submissions are answers.
func (p *Problem) answers() {
	if !p.Answers {
		return
	}
	if p.Limits.Time == 0 {
		p.Limits.Time = defaultTime // nothing computes
	}
	if len(p.Languages) > 0 || len(p.below("include")) > 0 {
		p.refuse(File, 0, "a submit-answer problem has languages or included code, and nothing of a submission runs")
	}
	for i := range p.Groups {
		for j := range p.Groups[i].Tests {
			if t := &p.Groups[i].Tests[j]; len(t.Args) > 0 || len(t.Files) > 0 {
				p.refuse(t.Input, 0, "a submit-answer problem has args or files for a test, and nothing of a submission runs")
			}
		}
	}
	if n := len(p.Groups); n > 0 {
		p.note(File, 0, "students submit a file for each test, such as %s.ans", p.answersOf(&p.Groups[n-1].Tests[0])[0])
	}
}
