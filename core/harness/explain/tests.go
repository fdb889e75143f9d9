package explain

import (
	"slices"
	"time"

	"drover/core"
)

// tests says what decided the verdict of each test. Those that were passed are said together, with the one that came
// closest to a limit.
func (e *explaining) tests() {
	passed, said, left := map[core.DecidedBy]int{}, 0, 0
	var order []core.DecidedBy
	for i := range e.r.Tests {
		t := &e.r.Tests[i]
		switch {
		case t.Passed() && t.Decision != nil && (t.Verdict == "" || t.Verdict == core.TestAccepted):
			if by := t.Decision.By; !slices.Contains(order, by) {
				order = append(order, by)
			}
			passed[t.Decision.By]++
		case said == mostTests:
			left++
		default:
			said++
			e.test(t)
		}
	}
	if left > 0 {
		e.say(sayMore, left)
	}
	for _, by := range order {
		if sentence, ok := passes[by]; ok {
			e.say(sentence, passed[by])
		} else {
			e.say(sayOthersFine, passed[by])
		}
	}
	e.closest()
	e.lost()
	e.checked()
}

// lost says for which tests the limit by the clock was put off.
func (e *explaining) lost() {
	said := 0
	for i := range e.r.Tests {
		t := &e.r.Tests[i]
		if t.Decision != nil && t.Decision.LostMs > 0 && said < mostTests {
			said++
			if own := t.Decision.LostMs - t.Decision.PartnerMs; own > 0 {
				e.say(sayLost, t.Name, ms(t.Decision.WallMs), ms(own))
			}
			if t.Decision.PartnerMs > 0 {
				e.say(sayPartner, t.Name, ms(t.Decision.WallMs), ms(t.Decision.PartnerMs))
			}
		}
	}
}

// checked says which tests were in doubt because of noise or being close to their limit, and what was done about it.
func (e *explaining) checked() {
	said := 0
	for i := range e.r.Tests {
		t := &e.r.Tests[i]
		c := t.Checked
		if c == nil || said == mostTests {
			continue
		}
		said++
		if sentence, ok := undecided[c.Left]; ok {
			e.say(sentence, t.Name, c.Others)
			continue
		}
		sentence, ok := doubted[c.Because]
		if !ok || c.Usage == nil || c.Again == nil {
			continue
		}
		e.say(sentence, t.Name, c.Others, ms(c.Usage.CPUMs), Word(c.Verdict))
		if c.Runs > 1 {
			e.say(sayLast, t.Name, c.Runs, *c.Again)
		} else {
			e.say(sayAgain, t.Name, *c.Again)
		}
	}
}

// test says what decided the verdict of one.
func (e *explaining) test(t *core.Test) {
	d := t.Decision
	if t.FailedBuild() {
		e.say(sayBuild).Detail = detail(t)
		return
	}
	if d == nil {
		if t.Verdict != "" {
			e.say(sayOwnVerdict, t.Name, Word(t.Verdict), Points(t.Score), Points(t.MaxScore)).Detail = detail(t)
		} else {
			e.say(sayOwn, t.Name, Points(t.Score), Points(t.MaxScore)).Detail = detail(t)
		}
		return
	}
	used := core.Usage{}
	if t.Usage != nil {
		used = *t.Usage
	}
	word := Word(t.Verdict)
	switch d.By {
	case core.ByTime:
		e.say(sayTime, t.Name, ms(used.CPUMs), ms(d.TimeMs), word)
	case core.ByClock:
		e.say(sayClock, t.Name, ms(used.WallMs), ms(d.WallMs), ms(used.CPUMs), word)
	case core.ByMemory:
		e.say(sayMemory, t.Name, Size(d.Memory), Size(used.MemoryPeakBytes), word)
	case core.ByPids:
		e.say(sayPids, t.Name, d.Pids, word)
	case core.ByOutput:
		e.say(sayOutput, t.Name, Size(d.Output), word)
	default:
		sentence, ok := decided[d.By]
		if !ok {
			sentence = sayDecided
		}
		e.say(sentence, t.Name, word).Detail = detail(t)
	}
}

// closest says which passed test came closest to its limit of time, if that was close.
func (e *explaining) closest() {
	const part, of = 8, 10
	var name string
	var used, limit time.Duration
	for i := range e.r.Tests {
		t := &e.r.Tests[i]
		if !t.Passed() || t.Usage == nil || t.Decision == nil || t.Decision.TimeMs == 0 {
			continue
		}
		u, l := ms(t.Usage.CPUMs), ms(t.Decision.TimeMs)
		if u*of >= l*part && (limit == 0 || u.Milliseconds()*limit.Milliseconds() > used.Milliseconds()*l.Milliseconds()) {
			name, used, limit = t.Name, u, l
		}
	}
	if limit > 0 {
		e.say(sayClose, name, used, limit)
	}
}
