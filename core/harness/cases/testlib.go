package cases

import (
	"fmt"
	"strconv"
	"strings"
)

// Exit codes of testlib.
const (
	testlibOK            = 0
	testlibWrong         = 1
	testlibFormat        = 2
	testlibFail          = 3
	testlibDirt          = 4
	testlibPoints        = 7
	testlibUnexpectedEnd = 8
)

// testlibParts is what a partially correct answer of testlib is out of.
const testlibParts = 200

// judgeTestlib converts the end of a checker or interactor of testlib to a test's outcome. The last line of its standard
// error is the verdict in words; what the author's code prints before it, and on standard output, is for people only.
func (c *Checker) judgeTestlib(t *Test, o *Outcome, code int, stderr string) (fault string) {
	stderr = strings.TrimSpace(stderr)
	said := stderr[strings.LastIndexByte(stderr, '\n')+1:]
	if o.Note = shortest(stderr); c.Staff {
		o.Note, o.Staff = "", o.Note
	}
	// The exit code of a partially correct answer may be any, also 0, since it is the number.
	if rest, ok := strings.CutPrefix(said, "partially correct ("); ok {
		number, _, _ := strings.Cut(rest, ")")
		parts, err := strconv.Atoi(number)
		if err != nil || parts < 0 || parts > testlibParts {
			return fmt.Sprintf("it says %q, and a partially correct answer has a number from 0 to %d", shorten(said), testlibParts)
		}
		o.share(float64(parts) / testlibParts)
		return ""
	}
	switch code {
	case testlibOK:
		o.Verdict, o.Share = Accepted, 1
		return ""
	case testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEnd:
		o.Verdict, o.Why, o.Share = WrongAnswer, "the "+c.Word+" says so", 0
		return ""
	case testlibPoints:
		return o.points(said, t.OutOf)
	case testlibFail:
		return fmt.Sprintf("it reports a fault of its own (%s)", shorten(said))
	}
	return fmt.Sprintf("it ended with exit code %d, which is none of testlib's (%s)", code, shorten(said))
}

// points reads how many of the points of a test its checker gives.
func (o *Outcome) points(said string, most float64) (fault string) {
	rest, ok := strings.CutPrefix(said, "points ")
	number, _, _ := strings.Cut(rest, " ")
	points, err := strconv.ParseFloat(number, 64)
	switch {
	case !ok || err != nil || !(points >= 0):
		return fmt.Sprintf("it ended with exit code %d, and the last line that it says (%s) does not begin with points and a number", testlibPoints, shorten(said))
	case points > most:
		return fmt.Sprintf("it gives %s points, of %g that the test or its group has", number, most)
	case points == most && most > 0:
		o.share(1)
	case most > 0:
		o.share(points / most)
	default:
		o.share(0)
	}
	return ""
}

// share sets how much of the points is won.
func (o *Outcome) share(share float64) {
	if o.Share = share; share == 1 {
		o.Verdict = Accepted
		return
	}
	o.Verdict, o.Why = WrongAnswer, fmt.Sprintf("a share of %g of the points", share)
}
