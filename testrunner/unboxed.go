package testrunner

import (
	"bytes"
	"context"
	"io"

	"drover/core"
	"drover/core/agent/boxrun"
)

// harnessTar writes the harness's archive. A harness that does not call drover-run would start the submission as its own
// user, who can then forge the report: only a pool that says so grades by one.
func (j *job) harnessTar(ctx context.Context, w io.Writer) error {
	boxed := &wordFinder{to: w, word: []byte(boxrun.Name)}
	_, err := j.copyBlob(ctx, j.r.deps.Harnesses, j.w.Spec.Harness.Digest, reasonNoHarness, boxed)
	if err == nil && !boxed.found && !j.pool.Unboxed {
		return &ended{core.BlameHarness, notYours + "nothing in it calls " + boxrun.Name +
			", so that a submission could forge its report. Start submissions by " + boxrun.Name + ", or have an operator set " +
			j.pool.Name + " to unboxed, if everybody who submits is trusted."}
	}
	return err
}

// wordFinder passes on what is written to it, and looks for a word.
type wordFinder struct {
	to    io.Writer
	word  []byte
	last  []byte // the end of what was written, shorter than the word
	found bool
}

// Write looks for the word, also where it began in an earlier piece.
func (f *wordFinder) Write(b []byte) (int, error) {
	most := len(f.word) - 1
	edge := append(f.last, b[:min(len(b), most)]...)
	f.found = f.found || bytes.Contains(edge, f.word) || bytes.Contains(b, f.word)
	if len(b) >= most {
		edge = b
	}
	f.last = append(f.last[:0], edge[max(len(edge)-most, 0):]...)
	return f.to.Write(b)
}
