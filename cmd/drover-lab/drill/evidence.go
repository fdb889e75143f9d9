package drill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// evidence decides, for every request that the platform gave up, whether that was the request's own fault. It uses
// only what the drill itself did and saw: which process was which owner and when it ended, and what each owner held
// by the cluster's events. The cluster's own reasons are ignored.
//
// No job of a drill does harm. So one may be given up only if it could have been the cause: its VM failed again and
// again while its owner lived, or processes died that held it alone, or apart from other requests that had met a
// death. A death is a process that ended: a pause, a cut cable or a clock that jumped is none.
type evidence struct {
	mu       sync.Mutex
	hands    map[string]map[string]bool // testrunner → what it holds, by Redis
	now      map[string]*life           // owner → the process that registered last, as far as known
	losing   map[string]*loss           // owner → the loss whose slots are being emptied
	kept     map[string]*loss           // owner → its last loss, until another process has its name
	losses   []*loss                    // in their order; nil: Redis has lost its memory
	faults   map[string]int             // request → faults reported by an owner that went on
	ended    map[string]time.Time       // request → when Redis reported its end
	claims   map[string]time.Time       // request → when it was claimed last
	drains   map[string]bool            // host that is to be drained → whether Redis ever said that it is
	broken   []string                   // guarantees to submitters and owners that were broken
	declared []declaration
}

// loss is the end of an owner's epoch while it held work.
type loss struct {
	owner  string
	op     string // the event: declare_dead, fence, register, host down; for a late one also death
	at     time.Time
	its    *life    // nil: unknown
	cohort []string // the held work
	of     *loss    // not nil: that loss, of whose process Redis is told only now that it died
}

// seen reports whether a loss is of a process that died, so that all which it held is marked.
func (l *loss) seen() bool {
	return dead(l.its, l.at) && (l.of != nil || l.op == "declare_dead" || l.op == "register")
}

// declaration is of a process that may have been alive.
type declaration struct {
	owner string
	at    time.Time
	its   *life
}

// soonAfter bounds how much later the drill hears of the end of a process than its neighbours do.
const soonAfter = time.Second

func newEvidence() *evidence {
	return &evidence{
		hands: map[string]map[string]bool{}, now: map[string]*life{}, losing: map[string]*loss{}, kept: map[string]*loss{},
		faults: map[string]int{}, ended: map[string]time.Time{}, claims: map[string]time.Time{}, drains: map[string]bool{},
	}
}

// happening is one event of the cluster.
type happening struct {
	op, by, moved, claimed string
	at                     time.Time // when the drill read it
	its                    *life     // of a registration: who did it; nil: unknown
	again                  bool      // it was read before: Redis was set back
}

// take records an event of the cluster; events must come in order.
func (e *evidence) take(h happening) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch h.op {
	case "register":
		e.found(h)
		e.lose(h.by, h)
		delete(e.kept, h.by)
		e.now[h.by] = h.its
	case "death":
		e.found(h)
	case "fence", "declare_dead":
		e.lose(h.by, h)
	case "host down", "host failed":
		for owner := range e.hands {
			if hostOf(owner) == h.moved {
				e.lose(owner, h)
			}
		}
	case "exchange", "settle", "revoke":
		if !strings.HasPrefix(h.by, "testrunner@") {
			return
		}
		e.end(h)
		if h.claimed != "" && e.drains[hostOf(h.by)] && !h.again {
			e.broken = append(e.broken, h.by+" was given "+h.claimed+" though its host is drained")
		}
		for key := range strings.FieldsSeq(h.claimed) {
			e.hand(h.by)[key] = true
			delete(e.losing, h.by)
			if !h.again {
				e.claims[key] = h.at
			}
		}
	case "drain":
		if _, asked := e.drains[h.moved]; asked && !h.again {
			e.drains[h.moved] = true
		}
	case "running":
		// What ended after that it may have begun already: a former owner's result came late.
		claimed := e.claims[h.moved]
		if at, over := e.ended[h.moved]; over && !h.again && at.Before(claimed) {
			e.broken = append(e.broken, h.moved+" is run by "+h.by+" though it had ended "+claimed.Sub(at).Round(time.Millisecond).String()+" before it was claimed")
		}
	}
}

// hostOf is an owner's host; "" if it is no owner.
func hostOf(owner string) string {
	_, host, _ := core.ParseOwner(owner) // the name is nobody's then
	return host
}

// drain records that a host is to be drained, or not any more. It must be called before Redis is.
func (e *evidence) drain(host string, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.drains, host)
	if on {
		e.drains[host] = false
	}
}

// hand needs the mutex.
func (e *evidence) hand(owner string) map[string]bool {
	if e.hands[owner] == nil {
		e.hands[owner] = map[string]bool{}
	}
	return e.hands[owner]
}

// lose records the end of an owner's epoch.
func (e *evidence) lose(owner string, h happening) {
	if h.again || !strings.HasPrefix(owner, "testrunner@") {
		return
	}
	its := e.now[owner]
	if h.op == "declare_dead" && its != nil {
		e.declared = append(e.declared, declaration{owner, h.at, its})
	}
	if e.losing[owner] != nil || len(e.hands[owner]) == 0 {
		return
	}
	l := &loss{owner: owner, op: h.op, at: h.at, its: its, cohort: slices.Sorted(maps.Keys(e.hands[owner]))}
	e.losing[owner], e.kept[owner], e.losses = l, l, append(e.losses, l)
}

// found records that an owner which lost its work is found dead only now: its work may be why.
func (e *evidence) found(h happening) {
	l := e.kept[h.by]
	if h.again || l == nil || l.seen() || !dead(l.its, h.at) {
		return
	}
	delete(e.kept, h.by)
	e.losses = append(e.losses, &loss{owner: l.owner, op: h.op, at: h.at, its: l.its, cohort: l.cohort, of: l})
}

// end removes work that left an owner.
func (e *evidence) end(h happening) {
	hand := e.hand(h.by)
	for word := range strings.FieldsSeq(h.moved) {
		key, outcome, back := strings.Cut(word, "=")
		delete(hand, key)
		if h.again {
			continue
		}
		if !back {
			e.ended[key] = h.at
		}
		if back && h.op == "exchange" && !strings.HasPrefix(outcome, "release") {
			e.faults[key]++
		}
	}
	if len(hand) == 0 {
		delete(e.losing, h.by)
	}
}

// forget clears all held work: Redis has lost its memory, or its events will be read again.
func (e *evidence) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.hands)
	clear(e.losing)
	clear(e.kept)
	e.losses = append(e.losses, nil)
}

// dead reports whether a process had ended by that time. One that is not known is taken for alive.
func dead(its *life, by time.Time) bool {
	return its != nil && !its.ended.IsZero() && its.ended.Before(by.Add(soonAfter))
}

// maxFaults is how many of its VMs must fail to make a request dead.
const maxFaults = 3

// innocent returns why a request that was given up had no fault of its own, or "" if it may have had.
func (e *evidence) innocent(key string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.faults[key] >= maxFaults {
		return ""
	}
	deaths, alone := 0, false
	marked := map[string]bool{} // those with a death on them that somebody saw
	beside := map[*loss]int{}   // others with a death on them when it was lost
	var last []string
	for _, l := range e.losses {
		if l == nil {
			clear(marked) // nobody can know any more
			continue
		}
		real, counted := dead(l.its, l.at), l.of != nil && dead(l.of.its, l.of.at)
		if slices.Contains(l.cohort, key) && !counted {
			for _, other := range l.cohort {
				if l.of == nil && other != key && marked[other] {
					beside[l]++
				}
			}
			others := beside[cmp.Or(l.of, l)]
			if real {
				alone = alone || len(l.cohort) == 1 || deaths > 0 && others == 0
				deaths++
			}
			last = append(last, sentence(l, real, others))
		}
		if l.seen() {
			for _, one := range l.cohort {
				marked[one] = true
			}
		}
	}
	const quarantine = 2
	if deaths >= quarantine && alone {
		return ""
	}
	if len(last) == 0 {
		return "no owner lost it"
	}
	return strings.Join(last, "; ")
}

// sentence describes a loss.
func sentence(l *loss, real bool, others int) string {
	how := "lived, and was given up (" + l.op + ")"
	switch {
	case l.of != nil:
		how = "was found dead later (" + l.op + ")"
	case real:
		how = "died"
	case l.its == nil:
		how = "was given up (" + l.op + "), by a process that the drill does not know,"
	}
	with := "alone"
	if n := len(l.cohort) - 1; n > 0 {
		with = fmt.Sprintf("%d others, %d of which had a death on them", n, others)
	}
	return l.owner + " " + how + " with it and " + with
}

// slow notes looks that took too long.
func (e *evidence) slow(looks []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = append(e.broken, looks...)
}

// promises lists broken guarantees.
func (e *evidence) promises() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.Clone(e.broken)
	for _, b := range e.declared {
		if !dead(b.its, b.at) {
			all = append(all, fmt.Sprintf("%s was declared dead, and its process %d was alive", b.owner, b.its.pid))
		}
	}
	return all
}

// died records the end of a process that the drill did not start.
func (e *evidence) died(its *life, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if its.ended.IsZero() {
		its.ended = at
	}
}
