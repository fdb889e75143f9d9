package cases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The files that a checker finds in its folder.
const (
	CheckInput  = "input"  // the test's input
	CheckOutput = "output" // the submission's output; also the checker's standard input
	CheckAnswer = "answer" // the test's expected output; empty if it has none

	// Of one with several passes: files stay there from pass to pass, but for the input of the next pass.
	Feedback = "feedback"
	NextPass = Feedback + "/nextpass.in"
)

// Command returns what to run: the words {input}, {output} and {answer} stand for the files, and a command without
// any of them gets all three as its last arguments. What a test adds comes after that.
func (c *Checker) Command(more Command) Command {
	all := slices.Clone(c.Run)
	named := false
	for i := range all {
		for _, file := range []string{CheckInput, CheckOutput, CheckAnswer} {
			if with := strings.ReplaceAll(all[i], "{"+file+"}", file); with != all[i] {
				all[i], named = with, true
			}
		}
	}
	if !named {
		more = slices.Concat(Command{CheckInput, CheckOutput, CheckAnswer}, more)
	}
	if len(more) == 0 {
		return all
	}
	return all.with(more)
}

// AfterCommand returns what judges the end of an interactor: its last argument is the exit code.
func (c *Checker) AfterCommand(code int) Command { return c.After.with(Command{strconv.Itoa(code)}) }

// Judge converts a checker's exit code and output to a test's outcome. It knows the codes of testlib and of Kattis,
// which do not conflict. Fault says what is wrong with the checker, if anything.
func (c *Checker) Judge(t *Test, o *Outcome, code int, stdout, stderr string) (fault string) {
	if c.Testlib {
		return c.judgeTestlib(t, o, code, stderr)
	}
	said := strings.TrimSpace(stdout)
	if said == "" {
		said = strings.TrimSpace(stderr)
	}
	said = shortest(said)
	if o.Note = said; c.Staff {
		o.Note, o.Staff = shortest(stdout), shortest(stderr)
	}
	switch code {
	case 0, 42:
		o.Verdict, o.Share = Accepted, 1
		return ""
	case 1, 2, 4, 8, 43:
		o.Verdict, o.Why, o.Share = WrongAnswer, "the "+c.Word+" says so", 0
		return ""
	case 7:
		return o.partly(said)
	}
	return fmt.Sprintf("it ended with exit code %d (%s)", code, shorten(said))
}

// UseUp sets the outcome of a test whose submission brought its checker or interactor to a limit of that one's own: it is
// the submission that went over the limit.
func (o *Outcome) UseUp(c *Checker, limit, how string) {
	o.Verdict, o.Why, o.Share = limit, "what it printed brought the "+c.Word+" to a limit: "+how, 0
}

func shortest(text string) string {
	text = strings.TrimSpace(text)
	return text[:min(len(text), maxQuote)]
}

// partly reads the share of the points: the first word, or the one after "points".
func (o *Outcome) partly(said string) (fault string) {
	words := strings.Fields(said)
	if len(words) > 1 && words[0] == "points" {
		words = words[1:]
	}
	share := -1.0
	if len(words) > 0 {
		if v, err := strconv.ParseFloat(words[0], 64); err == nil {
			share = v
		}
	}
	if !(share >= 0 && share <= 1) {
		return "it ended with exit code 7, and what it says does not begin with a share of the points from 0 to 1"
	}
	o.share(share)
	return ""
}

// checker reads a program of the author's that judges: what is its key.
func (p *parser) checker(what string, into **Checker) field {
	return func(n *yaml.Node) error {
		c := &Checker{Word: what}
		fields := map[string]field{
			"files": p.paths(&c.Files), "build": commands(&c.Build), "run": command(&c.Run), "limits": p.limits(&c.Limits),
			"stderr": func(n *yaml.Node) error {
				var reader string
				err := oneOf(&reader, "all", "staff")(n)
				c.Staff = reader == "staff"
				return err
			},
		}
		switch what {
		case "grader":
			fields["points"] = number(&c.Points, 0, 1e6)
		case "interactor":
			fields["after"] = command(&c.After)
			fallthrough
		default:
			fields["passes"], fields["testlib"] = integer(&c.Passes, 2, MaxPasses), truth(&c.Testlib)
		}
		err := mapping(n, what, fields)
		if err == nil && c.Run == nil {
			err = wrong(n, "the %s has nothing to run", what)
		}
		if err == nil && c.Testlib && (c.After != nil || c.Passes > 0) {
			err = wrong(n, "the %s is testlib's, which has neither passes nor after", what)
		}
		c.Limits = c.Limits.filled(defaultBuild)
		*into = c
		return err
	}
}
