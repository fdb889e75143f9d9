package problem

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"drover/core"
	"drover/core/harness"
)

// Outcome is a verdict in the format's words.
type Outcome string

// The outcomes.
const (
	Accepted     Outcome = "accepted"
	Partly       Outcome = "partially accepted" // of a scoring problem: some of the points
	WrongAnswer  Outcome = "wrong answer"
	TimeLimit    Outcome = "time limit exceeded"
	RunTimeError Outcome = "run-time error"
	OutputLimit  Outcome = "output limit exceeded" // fits both of the two before, as the formats have no word for it
	CompileError Outcome = "compile error"
	JudgeError   Outcome = "judge error" // a validator, or drover, failed
)

// Submission is an example submission of the package: a file, or a folder.
type Submission struct {
	Path   string
	Wanted []Outcome // any of these; empty if the package does not say

	Expected []Expectation // by submissions.yaml, beside Wanted
	Language string        // by submissions.yaml, a code of the table; "" for what suffixes say
	Entry    string        // by submissions.yaml, what starts: a file's name with or without suffix, or a class; "" if it does not say
}

// byFolder are the folders of submissions.
var byFolder = map[string][]Outcome{
	"accepted": {Accepted}, "slow_accepted": {Accepted, TimeLimit}, // right, but too slow to count for the time limit
	"partially_accepted": {Partly},
	"wrong_answer":       {WrongAnswer}, "time_limit_exceeded": {TimeLimit}, "run_time_error": {RunTimeError}, "runtime_error": {RunTimeError},
	"compile_error": {CompileError}, "compiler_error": {CompileError},
	"rejected": {WrongAnswer, TimeLimit, RunTimeError}, "brute_force": {TimeLimit, RunTimeError},
}

// byWord are the words of @EXPECTED_RESULTS@.
var byWord = map[string]Outcome{
	"ACCEPTED": Accepted, "CORRECT": Accepted, "AC": Accepted,
	"WRONG_ANSWER": WrongAnswer, "WA": WrongAnswer, "NO_OUTPUT": WrongAnswer,
	"TIME_LIMIT_EXCEEDED": TimeLimit, "TIMELIMIT": TimeLimit, "TLE": TimeLimit,
	"RUN_TIME_ERROR": RunTimeError, "RUN_ERROR": RunTimeError, "RTE": RunTimeError, "MEMORY_LIMIT": RunTimeError, "OUTPUT_LIMIT": OutputLimit,
	"COMPILER_ERROR": CompileError, "COMPILE_ERROR": CompileError, "CE": CompileError,
}

// expectedMark begins the outcomes that a file of a submission expects.
const expectedMark = "@EXPECTED_RESULTS@:"

// submissions finds the package's submissions.
func (p *Problem) submissions() error {
	for _, folder := range p.children("submissions") {
		if p.has("submissions/" + folder) {
			continue
		}
		wanted, said := byFolder[folder]
		if !said && !p.has(expectationsFile) {
			p.note("submissions/"+folder, 0, "this folder does not say what is expected")
		}
		for _, name := range p.children("submissions/" + folder) {
			if slices.Contains([]string{".disabled", ".template"}, path.Ext(name)) { // as in BAPCtools
				p.note("submissions/"+folder+"/"+name, 0, "it is not judged: its name ends with %s", path.Ext(name))
				continue
			}
			s := Submission{Path: path.Join("submissions", folder, name), Wanted: wanted}
			for _, f := range p.filesOf(s.Path) {
				said, err := p.expected(f)
				if err != nil {
					return err
				}
				if len(said) > 0 {
					s.Wanted = said
				}
			}
			p.Submissions = append(p.Submissions, s)
		}
	}
	if err := p.expectations(); err != nil {
		return err
	}
	p.Submissions = slices.DeleteFunc(p.Submissions, func(s Submission) bool {
		if p.Answers || s.Language != "" || slices.ContainsFunc(p.filesOf(s.Path), func(f string) bool { return known(path.Ext(f)) }) {
			return false
		}
		p.note(s.Path, 0, "it is not judged: no file of it has the suffix of a language that drover has")
		return true
	})
	return nil
}

// expected reads the outcomes that a file expects.
func (p *Problem) expected(file string) ([]Outcome, error) {
	raw, err := p.bytes(file, maxBytes)
	if err != nil {
		return nil, err
	}
	at := bytes.Index(raw, []byte(expectedMark))
	if at < 0 {
		return nil, nil
	}
	line, _, _ := strings.Cut(string(raw[at+len(expectedMark):]), "\n")
	var all []Outcome
	for word := range strings.SplitSeq(line, ",") {
		word = strings.ToUpper(strings.Trim(strings.TrimSpace(word), " */->#"))
		if is, known := byWord[strings.ReplaceAll(word, "-", "_")]; known {
			all = append(all, is)
			continue
		}
		p.note(file, 1+bytes.Count(raw[:at], []byte("\n")), "%s %s is not known", expectedMark, word)
	}
	return all, nil
}

// CopyProgram copies a program of the package into a folder, with the values of constants and what submissions.yaml says
// of its language, and returns where it is.
func (p *Problem) CopyProgram(dir string, s *Submission) (string, error) {
	w := &writer{p: p, dir: dir}
	files := p.filesOf(s.Path)
	if s.Language+s.Entry == "" && (p.polygon == nil || len(files) == 1) {
		for _, f := range files {
			w.copy(f, f)
		}
		return filepath.Join(dir, filepath.FromSlash(s.Path)), w.err
	}
	folder := s.Path + toldSuffix
	w.program(s.Path, folder)
	if s.Language+s.Entry == "" {
		return filepath.Join(dir, filepath.FromSlash(folder)), w.err
	}
	w.text(folder+"/"+toldFile, s.Language+"\n"+s.Entry+"\n")
	return filepath.Join(dir, filepath.FromSlash(folder)), w.err
}

// Fits reports whether an outcome is as the package says.
func (s *Submission) Fits(o Outcome) bool { return len(s.Wanted) == 0 || among(s.Wanted, o) }

// among reports whether an outcome is one of several. A program that prints without end would run until its time is up where
// output is measured afterwards, as problemtools does.
func among(of []Outcome, o Outcome) bool {
	return slices.Contains(of, o) || o == OutputLimit && (slices.Contains(of, RunTimeError) || slices.Contains(of, TimeLimit))
}

// Judged returns the outcome of a grading: that of the first test that failed, or, of a scoring problem's submission
// that has some of the points, that it has.
func (p *Problem) Judged(r *core.Result, wanted []Outcome) Outcome {
	faults := []harness.Verdict{harness.HarnessFault, harness.PlatformFault, harness.Cancelled, harness.Unfinished, harness.Rejected}
	if slices.Contains(faults, harness.VerdictOf(r)) {
		return JudgeError
	}
	if p.Scoring && r.Score != nil && r.MaxScore != nil {
		switch {
		case *r.Score >= *r.MaxScore:
			return Accepted
		case *r.Score > 0 && slices.Contains(wanted, Partly):
			return Partly
		}
	}
	if bad := p.failed(r); bad != "" {
		return bad
	}
	switch {
	case r.Limit == core.LimitTime || r.State == core.RequestTimedOut:
		return TimeLimit
	case r.Limit != "":
		return RunTimeError
	}
	return Accepted
}

// failed is the outcome of the first test that failed, or, where the package says so, the worst of all; "" if none has.
func (p *Problem) failed(r *core.Result) Outcome {
	found := map[Outcome]bool{}
	for i := range r.Tests {
		one := outcomeOf(&r.Tests[i])
		if one == "" {
			continue
		}
		if !p.worst {
			return one
		}
		found[one] = true
	}
	for _, one := range []Outcome{CompileError, RunTimeError, OutputLimit, TimeLimit, WrongAnswer} {
		if found[one] {
			return one
		}
	}
	return ""
}

// outcomeOf is what a test's verdict makes of a submission; "" for those that do not reject it. A validator that gives
// a part of the points has accepted the output.
func outcomeOf(t *core.Test) Outcome {
	switch t.Verdict {
	case core.TestAccepted, core.TestSkipped:
		return ""
	case core.TestBuildError:
		return CompileError
	case core.TestWrongAnswer:
		if t.Score > 0 {
			return ""
		}
		return WrongAnswer
	case core.TestTimeLimit:
		return TimeLimit
	case core.TestOutputLimit:
		return OutputLimit
	}
	return RunTimeError
}
