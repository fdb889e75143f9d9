package core

// StreamTests is the stream of live output that tells which tests of a grading have ended. Each of its chunks stands for
// the whole grading so far and replaces the one before, so any of them may be lost. Only a testrunner that carries out
// the tests itself writes it: a program in a VM has stdout and stderr, and no other stream.
const StreamTests = "tests"

// Mark is how one test of a grading stands while the grading goes on. Marks are for display only: the result alone
// counts, and nothing is computed from marks.
type Mark struct {
	Outcome ResultOutcome // waiting until the test has ended, then full, partial, failed, or cancelled if it was skipped
	Hidden  bool          // known only after its end
}

// MaxMarks bounds the marks of one grading.
const MaxMarks = 1000

// marked has the letter of each outcome; that of a hidden test is a capital.
const (
	letters  = "psfx"
	unmarked = '.'
)

// outcomes are what letters mean, in the same order.
func outcomes() []ResultOutcome {
	return []ResultOutcome{ResultPartial, ResultCancelled, ResultFull, ResultFailed}
}

// WriteMarks returns marks as the data of a chunk, one byte each.
func WriteMarks(all []Mark) []byte {
	all = all[:min(len(all), MaxMarks)]
	data := make([]byte, len(all))
	for i, m := range all {
		data[i] = unmarked
		for k, o := range outcomes() {
			if m.Outcome == o {
				data[i] = letters[k]
				if m.Hidden {
					data[i] -= 'a' - 'A'
				}
			}
		}
	}
	return data
}

// ReadMarks returns the marks of a chunk. A byte that stands for nothing is a test that has not ended.
func ReadMarks(data []byte) []Mark {
	data = data[:min(len(data), MaxMarks)]
	all := make([]Mark, len(data))
	for i, b := range data {
		hidden := b >= 'A' && b <= 'Z'
		if hidden {
			b += 'a' - 'A'
		}
		all[i].Outcome = ResultWaiting
		for k, o := range outcomes() {
			if b == letters[k] {
				all[i] = Mark{o, hidden}
			}
		}
	}
	return all
}
