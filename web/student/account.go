package student

import (
	"fmt"
	"time"

	"drover/core"
	"drover/core/harness/explain"
	"drover/web/page"
)

// account tells staff how a result came about: in sentences, and by what and in what surroundings.
type account struct {
	Lines   []string
	Of      *core.Result
	Machine string // processors and their model
	Network string // what its VM could reach; "" is not known
	Waited  string // how much noise there was; "" without a receipt or where nothing ran
	Stolen  string
	Running string
	Others  string
}

// readAccount reads what is said of how a result came about.
func readAccount(r *page.Request, is *core.Result, lines []explain.Line) *account {
	a := &account{Of: is}
	for _, l := range lines {
		a.Lines = append(a.Lines, explained(r, l))
	}
	if is.Receipt == nil {
		return a
	}
	if is.Receipt.CPU != "" {
		a.Machine = fmt.Sprintf("%d × %s", is.Receipt.Processors, is.Receipt.CPU)
	}
	switch a.Network = is.Receipt.Network; a.Network {
	case core.NetworkNone:
		a.Network = r.T("no addresses")
	case core.NetworkEgress:
		a.Network = r.T("public addresses")
	}
	if n := is.Receipt.Noise; n != nil {
		part := func(ms *int64) string {
			if ms == nil {
				return r.T("not measured")
			}
			return r.T("%s of %s", r.Span(*ms), r.Span(n.Ms))
		}
		a.Waited, a.Stolen, a.Running = part(n.Waited), part(n.Stolen), r.T("not measured")
		if n.Others != nil {
			a.Others = r.T("%s %%", r.Number(float64(*n.Others)))
		}
		if n.Running != nil {
			a.Running = r.Number(float64(*n.Running))
		}
	}
	return a
}

// explained says a line in the reader's language.
func explained(r *page.Request, l explain.Line) string {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		switch is := arg.(type) {
		case time.Duration:
			arg = r.Span(is.Milliseconds())
		case explain.Size:
			arg = r.Size(int64(is))
		case explain.Points:
			arg = r.Number(float64(is))
		case explain.Word:
			arg = r.TestVerdict(string(is))
		}
		args[i] = arg
	}
	text := r.T(l.Sentence, args...)
	if l.Detail != "" {
		text += " (" + l.Detail + ")"
	}
	return text
}
