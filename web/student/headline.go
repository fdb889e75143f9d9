package student

import (
	"net/url"
	pathpkg "path"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/service/pattern"
	"drover/web/page"
)

// wrongs are the beginnings of headlines, by the verdict of the first test that was not passed.
var wrongs = map[string]string{
	core.TestWrongAnswer:  page.Sentence("Wrong on %s"),
	core.TestTimeLimit:    page.Sentence("Too slow on %s"),
	core.TestMemoryLimit:  page.Sentence("Too much memory on %s"),
	core.TestProcessLimit: page.Sentence("Too many processes on %s"),
	core.TestOutputLimit:  page.Sentence("Printed too much on %s"),
	core.TestRuntimeError: page.Sentence("Crashed on %s"),
	core.TestCrashed:      page.Sentence("Crashed on %s"),
}

// headline says in plain words how the tests of a submission ended; "" where its pill says all there is to say.
func (res *result) headline(r *page.Request, all []test) string {
	if res.Build != nil {
		for _, line := range res.Build.Lines {
			if line.File != "" {
				return r.T("Does not compile: %s line %d", line.File, line.Number)
			}
		}
		return r.T("Could not be built")
	}
	var first *test
	for i := range all {
		if t := &all[i]; !t.Passed() && t.Verdict != core.TestSkipped {
			first = t
			break
		}
	}
	switch {
	case res.Count == 0:
		return ""
	case first == nil && res.Passed == res.Count:
		return r.N(res.Count, "The test passed", "All %d tests passed")
	case first == nil:
		return ""
	}
	sentence := wrongs[first.Verdict]
	if sentence == "" {
		sentence = page.Sentence("Failed on %s")
		if first.Score > 0 {
			sentence = page.Sentence("Partly right on %s")
		}
	}
	return r.T(sentence, first.Name)
}

// build is what a compiler said of a submission that could not be built.
type build struct {
	Why   string // in a line
	Lines []buildLine
}

// buildLine is a line of a compiler's message.
type buildLine struct {
	Text   string
	File   string // of the submission, that the line is about; "" if it names none
	Number int    // of the line in the file
	URL    string // of that line; "" without a page of code
}

// maxBuildLines bounds the lines of a compiler's message that are shown.
const maxBuildLines = 400

// How compilers and interpreters name a place: gcc, clang, go, rustc, javac, ghc and node; python.
var (
	inColons = pattern.New(`^\s*(?:-->\s*)?(?:\./)?([^\s:()"']+):([0-9]{1,7})\b`)
	inPython = pattern.New(`^\s*File "([^"]+)", line ([0-9]{1,7})\b`)
)

// readBuild reads the message of a build that failed. Files are those of the submission; below is the path of the pages
// that show them, "" if there are none.
func readBuild(t *core.Test, files []core.File, below string) *build {
	b := &build{}
	blocks := readMessage(t.Message)
	if _, why, ok := strings.Cut(strings.TrimSpace(blocks.lead), ": "); ok {
		b.Why, _, _ = strings.Cut(why, "\n")
	}
	for _, text := range blocks.of("")[:min(len(blocks.of("")), maxBuildLines)] {
		line := buildLine{Text: text}
		for _, m := range [][]string{inColons().FindStringSubmatch(text), inPython().FindStringSubmatch(text)} {
			if m == nil {
				continue
			}
			if line.File = sourceOf(m[1], files); line.File == "" {
				continue
			}
			line.Number, _ = strconv.Atoi(m[2])
			if below != "" {
				at := url.URL{Path: below + "/" + line.File, RawQuery: "lines=" + m[2], Fragment: "L" + m[2]}
				line.URL = at.String()
			}
			break
		}
		b.Lines = append(b.Lines, line)
	}
	return b
}

// sourceOf returns the file of a submission that a compiler means, which may name it below a folder of the VM; "" if it
// is none.
func sourceOf(named string, files []core.File) string {
	for _, f := range files {
		if named == f.Path || strings.HasSuffix(named, "/"+f.Path) {
			return f.Path
		}
	}
	for _, f := range files {
		if pathpkg.Base(named) == f.Path {
			return f.Path
		}
	}
	return ""
}
