package problem

import (
	"bytes"
	"path"
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
	CompileError Outcome = "compile error"
	JudgeError   Outcome = "judge error" // a validator, or drover, failed
)

// Submission is an example submission of the package: a file, or a folder.
type Submission struct {
	Path   string
	Wanted []Outcome // any of these; empty if the package does not say
}

// byFolder are the folders of submissions.
var byFolder = map[string][]Outcome{
	"accepted": {Accepted}, "slow_accepted": {Accepted}, "partially_accepted": {Partly},
	"wrong_answer": {WrongAnswer}, "time_limit_exceeded": {TimeLimit}, "run_time_error": {RunTimeError}, "runtime_error": {RunTimeError},
	"compile_error": {CompileError}, "compiler_error": {CompileError},
	"rejected": {WrongAnswer, TimeLimit, RunTimeError}, "brute_force": {TimeLimit, RunTimeError},
}

// byWord are the words of @EXPECTED_RESULTS@.
var byWord = map[string]Outcome{
	"ACCEPTED": Accepted, "CORRECT": Accepted, "AC": Accepted,
	"WRONG_ANSWER": WrongAnswer, "WA": WrongAnswer, "NO_OUTPUT": WrongAnswer,
	"TIME_LIMIT_EXCEEDED": TimeLimit, "TIMELIMIT": TimeLimit, "TLE": TimeLimit,
	"RUN_TIME_ERROR": RunTimeError, "RUN_ERROR": RunTimeError, "RTE": RunTimeError, "MEMORY_LIMIT": RunTimeError, "OUTPUT_LIMIT": RunTimeError,
	"COMPILER_ERROR": CompileError, "COMPILE_ERROR": CompileError, "CE": CompileError,
}

// expectedMark begins the outcomes that a file of a submission expects.
const expectedMark = "@EXPECTED_RESULTS@:"

// submissions finds the package's submissions.
func (p *Problem) submissions() error {
	if p.has("submissions/submissions.yaml") {
		p.note("submissions/submissions.yaml", 0, "it is not read: the folders say what is expected")
	}
	for _, folder := range p.children("submissions") {
		if p.has("submissions/" + folder) {
			continue
		}
		wanted, known := byFolder[folder]
		if !known {
			p.note("submissions/"+folder, 0, "this folder does not say what is expected")
		}
		for _, name := range p.children("submissions/" + folder) {
			s := Submission{Path: path.Join("submissions", folder, name), Wanted: wanted}
			files := []string{s.Path}
			if !p.has(s.Path) {
				files = p.below(s.Path)
			}
			for _, f := range files {
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

// Fits reports whether an outcome is as the package says.
func (s *Submission) Fits(o Outcome) bool { return len(s.Wanted) == 0 || slices.Contains(s.Wanted, o) }

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
	for i := range r.Tests {
		switch r.Tests[i].Verdict {
		case core.TestAccepted, core.TestSkipped:
		case core.TestBuildError:
			return CompileError
		case core.TestWrongAnswer:
			return WrongAnswer
		case core.TestTimeLimit:
			return TimeLimit
		default:
			return RunTimeError
		}
	}
	switch {
	case r.Limit == core.LimitTime || r.State == core.RequestTimedOut:
		return TimeLimit
	case r.Limit != "":
		return RunTimeError
	}
	return Accepted
}
