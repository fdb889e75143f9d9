package requests

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"drover/core"
	"drover/core/harness"
)

// Comparison holds a replay against the request that it runs again.
type Comparison struct {
	Of      string `json:"of"`      // the request that was replayed
	Replay  string `json:"replay"`  // the request that ran it again
	Same    bool   `json:"same"`    // both came to the same
	Decided bool   `json:"decided"` // the replay came to an end of its own: no fault of the platform, and nobody stopped it

	Differences []Difference `json:"differences"`            // in what they came to
	Changed     []Difference `json:"changed"`                // what should have been the same: the replay did not run as it was
	NotCompared []Compared   `json:"not_compared,omitempty"` // what one of them does not have any more

	Was   Side       `json:"was"`
	Is    Side       `json:"is"`
	Tests []Measured `json:"tests"` // of both, with what they used; they are no differences
}

// Difference is something in which two results differ.
type Difference struct {
	What Compared `json:"what"`
	Of   string   `json:"of,omitempty"` // the test or file that it is about
	Was  string   `json:"was"`
	Is   string   `json:"is"`
}

// NameOf names in English what a difference is in.
func NameOf(d Difference) string {
	if d.Of == "" {
		return string(d.What)
	}
	return string(d.What) + " " + d.Of
}

// Compared is something that is compared.
type Compared string

// What is compared.
const (
	ComparedVerdict     Compared = "verdict"
	ComparedState       Compared = "state"
	ComparedBlame       Compared = "blame"
	ComparedLimit       Compared = "limit"
	ComparedExit        Compared = "exit code"
	ComparedSignal      Compared = "signal"
	ComparedScore       Compared = "score"
	ComparedMost        Compared = "maximum score"
	ComparedTest        Compared = "test" // whether there is one
	ComparedTestVerdict Compared = "verdict of test"
	ComparedTestScore   Compared = "points of test"
	ComparedTestMost    Compared = "maximum points of test"
	ComparedStdout      Compared = "standard output"
	ComparedStderr      Compared = "standard error"
	ComparedFile        Compared = "file"
	ComparedImage       Compared = "image"
	ComparedHarness     Compared = "harness"
	ComparedFiles       Compared = "files"
	ComparedLimits      Compared = "limits"
	ComparedNetwork     Compared = "network"
	ComparedPeer        Compared = "peer"
)

// AllCompared lists what is compared.
func AllCompared() []Compared {
	return []Compared{
		ComparedVerdict, ComparedState, ComparedBlame, ComparedLimit, ComparedExit, ComparedSignal, ComparedScore, ComparedMost, ComparedTest,
		ComparedTestVerdict, ComparedTestScore, ComparedTestMost, ComparedStdout, ComparedStderr, ComparedFile,
		ComparedImage, ComparedHarness, ComparedFiles, ComparedLimits, ComparedNetwork, ComparedPeer,
	}
}

// Side is one of two results, with by what and in what surroundings it came about.
type Side struct {
	Generation int             `json:"generation"`
	Attempt    int             `json:"attempt"`
	Verdict    harness.Verdict `json:"verdict"`
	Score      *float64        `json:"score"`
	MaxScore   *float64        `json:"max_score"`
	Usage      core.Usage      `json:"usage"`
	Host       string          `json:"host,omitempty"`
	Image      string          `json:"image,omitempty"`
	Receipt    *core.Receipt   `json:"receipt,omitempty"`
}

// Measured is a test of both results with its verdicts and what it used; nil if that was not measured.
type Measured struct {
	Name       string      `json:"name"`
	WasVerdict string      `json:"was_verdict"`
	IsVerdict  string      `json:"is_verdict"`
	Was        *core.Usage `json:"was"`
	Is         *core.Usage `json:"is"`
}

func sideOf(r *core.Result) Side {
	return Side{
		Generation: r.Generation, Attempt: r.Attempt, Verdict: harness.VerdictOf(r), Score: r.Score, MaxScore: r.MaxScore,
		Usage: r.Usage, Host: r.Host, Image: r.Image, Receipt: r.Receipt,
	}
}

// compare holds the result of a replay against the first one. Output and files are compared of plain commands only: what a
// harness prints is not what it finds.
func compare(was, is *core.Result, plain bool) Comparison {
	c := &comparing{Comparison: Comparison{
		Of: was.ID, Replay: is.ID, Differences: []Difference{}, Changed: []Difference{}, Was: sideOf(was), Is: sideOf(is), Tests: []Measured{},
	}}
	c.Decided = is.State != core.RequestCancelled && is.State != core.RequestDead && is.Blame != core.BlamePlatform
	c.ends(was, is)
	c.tests(was.Tests, is.Tests)
	if plain {
		c.outputs(was, is)
	}
	c.surroundings(was, is)
	c.Same = c.Decided && len(c.Differences) == 0
	return c.Comparison
}

type comparing struct{ Comparison }

func (c *comparing) differ(what Compared, of, was, is string) {
	if was != is {
		c.Differences = append(c.Differences, Difference{what, of, was, is})
	}
}

// ends compares how the whole runs ended.
func (c *comparing) ends(was, is *core.Result) {
	c.differ(ComparedVerdict, "", string(c.Was.Verdict), string(c.Is.Verdict))
	c.differ(ComparedState, "", string(was.State), string(is.State))
	c.differ(ComparedBlame, "", string(was.Blame), string(is.Blame))
	c.differ(ComparedLimit, "", was.Limit, is.Limit)
	c.differ(ComparedExit, "", strconv.Itoa(was.ExitCode), strconv.Itoa(is.ExitCode))
	c.differ(ComparedSignal, "", was.Signal, is.Signal)
	c.differ(ComparedScore, "", points(was.Score), points(is.Score))
	c.differ(ComparedMost, "", points(was.MaxScore), points(is.MaxScore))
}

func points(p *float64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(*p, 'g', -1, 64)
}

// There is a test in one of two results, or in both.
const (
	there = "there"
	not   = "not there"
)

// tests compares tests, which are the same if they have the same name; of several of one name, the first is compared with
// the first.
func (c *comparing) tests(was, is []core.Test) {
	left := make(map[string][]int, len(is))
	for i := range is {
		left[is[i].Name] = append(left[is[i].Name], i)
	}
	for i := range was {
		w := &was[i]
		at := left[w.Name]
		if len(at) == 0 {
			c.differ(ComparedTest, w.Name, there, not)
			continue
		}
		t := &is[at[0]]
		left[w.Name] = at[1:]
		c.differ(ComparedTestVerdict, w.Name, w.Verdict, t.Verdict)
		c.differ(ComparedTestScore, w.Name, points(&w.Score), points(&t.Score))
		c.differ(ComparedTestMost, w.Name, points(&w.MaxScore), points(&t.MaxScore))
		c.Tests = append(c.Tests, Measured{w.Name, w.Verdict, t.Verdict, w.Usage, t.Usage})
	}
	for i := range is {
		if slices.Contains(left[is[i].Name], i) {
			c.differ(ComparedTest, is[i].Name, not, there)
		}
	}
}

// outputs compares by digest what a plain command printed, and the files that were collected.
func (c *comparing) outputs(was, is *core.Result) {
	if was.Expired > 0 || is.Expired > 0 {
		c.NotCompared = append(c.NotCompared, ComparedStdout, ComparedStderr, ComparedFile)
		return
	}
	c.differ(ComparedStdout, "", sumOf(was.Stdout), sumOf(is.Stdout))
	c.differ(ComparedStderr, "", sumOf(was.Stderr), sumOf(is.Stderr))
	by := make(map[string][2]string)
	for side, files := range [2][]core.File{was.Files, is.Files} {
		for _, f := range files {
			both := by[f.Path]
			both[side] = f.Digest
			by[f.Path] = both
		}
	}
	paths := make([]string, 0, len(by))
	for path := range by {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		c.differ(ComparedFile, path, cmp.Or(by[path][0], not), cmp.Or(by[path][1], not))
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// surroundings compares what both should have had. What one result does not say is not compared.
func (c *comparing) surroundings(was, is *core.Result) {
	differ := func(what Compared, was, is string) {
		switch {
		case was == "" || is == "":
			c.NotCompared = append(c.NotCompared, what)
		case was != is:
			c.Changed = append(c.Changed, Difference{What: what, Was: was, Is: is})
		}
	}
	differ(ComparedImage, was.Image, is.Image)
	if was.Receipt == nil || is.Receipt == nil {
		c.NotCompared = append(c.NotCompared, ComparedHarness, ComparedFiles, ComparedLimits, ComparedNetwork, ComparedPeer)
		return
	}
	if a, b := was.Receipt, is.Receipt; a.Network == "" || b.Network == "" { // an older result does not say
		c.NotCompared = append(c.NotCompared, ComparedNetwork, ComparedPeer)
	} else {
		differ(ComparedNetwork, a.Network, b.Network)
		differ(ComparedPeer, strconv.FormatBool(a.Peer), strconv.FormatBool(b.Peer))
	}
	if was.Receipt.Harness != is.Receipt.Harness {
		differ(ComparedHarness, cmp.Or(was.Receipt.Harness, not), cmp.Or(is.Receipt.Harness, not))
	}
	if was.Receipt.Files != is.Receipt.Files {
		differ(ComparedFiles, cmp.Or(was.Receipt.Files, not), cmp.Or(is.Receipt.Files, not))
	}
	if a, b := was.Receipt.Limits, is.Receipt.Limits; a != b {
		for _, l := range limitsOf(a, b) {
			differ(ComparedLimits, l[0], l[1])
		}
	}
}

// limitsOf returns the limits in which a and b differ, as texts.
func limitsOf(a, b core.Limits) [][2]string {
	var all [][2]string
	for _, one := range []struct {
		name    string
		was, is string
	}{
		{"timeout", a.Timeout.String(), b.Timeout.String()},
		{"memory", core.SizeText(a.Memory), core.SizeText(b.Memory)},
		{"disk", core.SizeText(a.Disk), core.SizeText(b.Disk)},
		{"file size", core.SizeText(a.FileSize), core.SizeText(b.FileSize)},
		{"pids", strconv.Itoa(a.Pids), strconv.Itoa(b.Pids)},
		{"cpu", strconv.Itoa(a.CPU), strconv.Itoa(b.CPU)},
		{"open files", strconv.Itoa(a.OpenFiles), strconv.Itoa(b.OpenFiles)},
		{"output", core.SizeText(a.Output), core.SizeText(b.Output)},
	} {
		if one.was != one.is {
			all = append(all, [2]string{one.name + " " + one.was, one.name + " " + one.is})
		}
	}
	return all
}
