package student

import (
	"cmp"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/requests"
	"drover/web/page"
)

// comparison shows a replay beside the request that it runs again.
type comparison struct {
	requests.Comparison
	Rows    []comparedRow // what differs
	Changed []comparedRow // what should have been the same
	Beside  []comparedRow // what is no difference
}

type comparedRow struct{ Name, Was, Is string }

var comparedNames = map[requests.Compared]string{
	requests.ComparedVerdict:     page.Sentence("Verdict"),
	requests.ComparedState:       page.Sentence("State"),
	requests.ComparedBlame:       page.Sentence("Whose fault it was"),
	requests.ComparedLimit:       page.Sentence("Limit"),
	requests.ComparedExit:        page.Sentence("Exit code"),
	requests.ComparedSignal:      page.Sentence("Signal"),
	requests.ComparedScore:       page.Sentence("Score"),
	requests.ComparedMost:        page.Sentence("Maximum score"),
	requests.ComparedTest:        page.Sentence("Test"),
	requests.ComparedTestVerdict: page.Sentence("Verdict of test"),
	requests.ComparedTestScore:   page.Sentence("Points of test"),
	requests.ComparedTestMost:    page.Sentence("Maximum points of test"),
	requests.ComparedStdout:      page.Sentence("Standard output"),
	requests.ComparedStderr:      page.Sentence("Standard error"),
	requests.ComparedFile:        page.Sentence("File"),
	requests.ComparedImage:       page.Sentence("Image"),
	requests.ComparedHarness:     page.Sentence("Harness"),
	requests.ComparedFiles:       page.Sentence("Files"),
	requests.ComparedLimits:      page.Sentence("Limits"),
	requests.ComparedNetwork:     page.Sentence("Network"),
	requests.ComparedPeer:        page.Sentence("Peer"),
}

// readComparison reads how a replay compares; nil if the request that it runs again has no result any more.
func (d *student) readComparison(r *page.Request, id string) (*comparison, error) {
	is, err := d.deps.Requests.Compare(r.Context(), r.Actor(), id)
	if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeForbidden) {
		return nil, nil //nolint:nilnil // the result is shown without
	}
	if err != nil {
		return nil, err
	}
	c := &comparison{Comparison: is, Rows: differingRows(r, is.Differences), Changed: differingRows(r, is.Changed)}
	add := func(name, was, is string) {
		if was != "" || is != "" {
			c.Beside = append(c.Beside, comparedRow{name, cmp.Or(was, "–"), cmp.Or(is, "–")})
		}
	}
	a, b := cmp.Or(is.Was.Receipt, &core.Receipt{}), cmp.Or(is.Is.Receipt, &core.Receipt{})
	add(r.T("Host"), is.Was.Host, is.Is.Host)
	add(r.T("Kernel"), a.Kernel, b.Kernel)
	add(r.T("Version of drover"), a.Drover, b.Drover)
	add(r.T("Processors"), a.CPU, b.CPU)
	add(r.T("Processor time"), r.Span(is.Was.Usage.CPUMs), r.Span(is.Is.Usage.CPUMs))
	add(r.T("Time by the clock"), r.Span(is.Was.Usage.WallMs), r.Span(is.Is.Usage.WallMs))
	add(r.T("Memory"), r.Size(is.Was.Usage.MemoryPeakBytes), r.Size(is.Is.Usage.MemoryPeakBytes))
	return c, nil
}

func differingRows(r *page.Request, all []requests.Difference) []comparedRow {
	rows := make([]comparedRow, len(all))
	for i, one := range all {
		rows[i] = comparedRow{strings.TrimSpace(r.T(comparedNames[one.What]) + " " + one.Of), comparedText(r, one.What, one.Was), comparedText(r, one.What, one.Is)}
	}
	return rows
}

// comparedText returns one side of a difference in the reader's language; of a digest its beginning.
func comparedText(r *page.Request, what requests.Compared, text string) string {
	state := states[core.RequestState(text)]
	switch {
	case what == requests.ComparedTestVerdict:
		return r.TestVerdict(cmp.Or(text, cases.Accepted))
	case text == "":
		return "–"
	case what == requests.ComparedPeer && text == "true":
		return r.T("yes")
	case what == requests.ComparedPeer:
		return r.T("no")
	case what == requests.ComparedVerdict:
		return r.Verdict(harness.Verdict(text))
	case what == requests.ComparedState && state.Text != "":
		return r.T(state.Text)
	}
	if digits, is := strings.CutPrefix(text, "sha256:"); is && len(digits) > 12 {
		return "sha256:" + digits[:12] + "…"
	}
	return text
}

// mayReplay reports whether the reader may run a request again as it was that is their own, or a class's.
func mayReplay(a core.Actor, s *requests.View) bool {
	return s.Replays == "" && s.Submission == "" && s.State.Terminal() && s.Times.Started >= 0 && core.Allow(a, core.ActRequestCreate, core.Object{}) == nil
}

func (d *student) replayRequest(r *page.Request) error {
	v, _, err := d.deps.Requests.Replay(r.Context(), r.Actor(), r.PathValue("id"), requests.ReplayOptions{})
	if err != nil {
		return err
	}
	return r.Redirect(path("requests", v.ID), r.T("It runs again as it was. This counts for nothing."))
}
