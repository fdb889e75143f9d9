package simulate

import (
	"math"
	"slices"
	"time"

	"drover/core"
)

// queue is what waits for one pool. It gives requests out in the order of the scripts dequeue.lua, by_priority.lua,
// share.lua and take.lua.
type queue struct {
	lines   map[core.Priority]*line
	soon    map[core.Priority]*line // what is due within the hour
	most    int                     // of a submitter and priority that run at once; 0: any number
	ran     map[core.Priority]map[string]int
	tickets int // all that were ever taken
	waiting int
}

// line is what waits with one priority: submitters take turns, and each one's requests keep their order.
type line struct {
	turns []string
	of    map[string][]int
}

func newQueue(most int) *queue {
	q := &queue{lines: make(map[core.Priority]*line), soon: make(map[core.Priority]*line), most: most, ran: make(map[core.Priority]map[string]int)}
	for _, p := range core.Priorities() {
		q.lines[p], q.soon[p] = &line{of: make(map[string][]int)}, &line{of: make(map[string][]int)}
		q.ran[p] = make(map[string]int)
	}
	return q
}

// dueSoon is how long before it is due a request gets its turns sooner, ms. What waits changes its line then.
const dueSoon = int64(time.Hour / time.Millisecond)

// isSoon reports whether what is due then (0: never) is due soon.
func isSoon(due, now int64) bool { return due != 0 && due >= now && due-now <= dueSoon }

// add puts a request behind its submitter's others.
func (q *queue) add(priority core.Priority, submitter string, request int, soon bool) {
	l := q.lines[priority]
	if soon {
		l = q.soon[priority]
	}
	l.add(submitter, request)
	q.waiting++
}

// hasten moves a request that waits, and is due soon now, behind the others of its submitter that are.
func (q *queue) hasten(priority core.Priority, submitter string, request int) {
	if q.lines[priority].remove(submitter, request) {
		q.soon[priority].add(submitter, request)
	}
}

// able is at most how many of those that wait could run now.
func (q *queue) able() int {
	if q.most == 0 {
		return q.waiting
	}
	submitters := 0
	for _, p := range core.Priorities() {
		submitters += len(q.lines[p].turns) + len(q.soon[p].turns)
	}
	return min(q.waiting, q.most*submitters)
}

// end notes that a request of a submitter runs no more.
func (q *queue) end(priority core.Priority, submitter string) { q.ran[priority][submitter]-- }

func (l *line) remove(submitter string, request int) bool {
	at := slices.Index(l.of[submitter], request)
	if at < 0 {
		return false
	}
	if l.of[submitter] = slices.Delete(l.of[submitter], at, at+1); len(l.of[submitter]) == 0 {
		delete(l.of, submitter)
		l.turns = slices.DeleteFunc(l.turns, func(s string) bool { return s == submitter })
	}
	return true
}

func (l *line) add(submitter string, request int) {
	if len(l.of[submitter]) == 0 {
		l.turns = append(l.turns, submitter)
	}
	l.of[submitter] = append(l.of[submitter], request)
}

// take takes up to so many requests.
func (q *queue) take(want int) []int {
	var out []int
	inTurn := func(p core.Priority) int { return len(q.lines[p].turns) + len(q.soon[p].turns) }
	byPriority(want, q.tickets, inTurn(core.PriorityHigh), inTurn(core.PriorityNormal), func(p core.Priority, n int) int {
		got := q.share(p, n)
		out = append(out, got...)
		return n - len(got)
	})
	q.tickets += len(out)
	q.waiting -= len(out)
	return out
}

// Of four turns of a priority three are those of what is due soon, which the fractions of multiples of the golden ratio
// choose.
const (
	soonShare = 4
	golden    = 0.6180339887498949
)

// share takes requests of a priority.
func (q *queue) share(p core.Priority, want int) []int {
	others := want / soonShare
	for i := soonShare * others; i < want; i++ {
		if math.Mod(float64(q.tickets+i)*golden, 1) >= 1-1.0/soonShare {
			others++
		}
	}
	soon := q.soon[p].take(want-others, q.most, q.ran[p])
	out := append(soon, q.lines[p].take(want-len(soon), q.most, q.ran[p])...)
	return append(out, q.soon[p].take(want-len(out), q.most, q.ran[p])...)
}

// byPriority shares a demand among the priorities: of ten tickets six go to high, three to normal and one to low, if one
// submitter of each waits, and each further submitter of high and normal has as many. take returns how many it lacks of
// those that it is asked for.
func byPriority(want, taken, highs, normals int, take func(core.Priority, int) int) {
	ofLower := func(n int) (lower, low int) {
		lower = 4 * n / (6*max(highs, 1) + 4)
		return lower, lower / (3*max(normals, 1) + 1)
	}
	lower, low := ofLower(taken + want)
	lowerBefore, lowBefore := ofLower(taken)
	lower, low = lower-lowerBefore, low-lowBefore
	order := core.Priorities()
	quota := map[core.Priority]int{core.PriorityHigh: want - lower, core.PriorityNormal: lower - low, core.PriorityLow: low}
	left, spent := 0, make(map[core.Priority]bool)
	for i, own := range order {
		left += quota[own]
		for j := i; j < i+len(order); j++ {
			// Its own priority first, then the heavier ones; what they all lack is the lighter ones'.
			p := order[j%len(order)]
			if left > 0 && !spent[p] && (j == i || j >= len(order)) {
				left = take(p, left)
				spent[p] = left > 0
			}
		}
	}
}

// One call of take ends after maxRounds rounds of turns. Where there is a limit of running requests, a round looks at
// roundLeast submitters or more.
const (
	maxRounds  = 64
	roundLeast = 32
)

// take lets submitters take turns until it has so many, and puts those that have more behind the others: last those
// that got one more than the others. Who has as many running as there may be is passed over.
func (l *line) take(want, most int, ran map[string]int) (out []int) {
	passed := 0
	for range maxRounds {
		seen := want
		if most > 0 {
			seen = max(want, roundLeast)
		}
		if seen = min(seen, len(l.turns)); want == 0 || seen == 0 {
			break
		}
		before := len(out)
		now := slices.Clone(l.turns[:seen])
		l.turns = slices.Clone(l.turns[seen:])
		var front, back, last []string
		if most > 0 {
			may := now[:0]
			for _, submitter := range slices.Clone(now) {
				switch {
				case ran[submitter] >= most:
					back = append(back, submitter)
				case len(may) < want:
					may = append(may, submitter)
				default:
					front = append(front, submitter)
				}
			}
			now = may
		}
		n := max(len(now), 1)
		share, extra := want/n, want%n
		for i, submitter := range now {
			count := share
			if i < extra {
				count++
			}
			if most > 0 {
				count = min(count, most-ran[submitter])
			}
			has := l.of[submitter]
			got := min(count, len(has))
			out, want = append(out, has[:got]...), want-got
			ran[submitter] += got
			switch rest := has[got:]; {
			case len(rest) == 0:
				delete(l.of, submitter)
			case i < extra:
				l.of[submitter], last = rest, append(last, submitter)
			default:
				l.of[submitter], back = rest, append(back, submitter)
			}
		}
		l.turns = slices.Concat(front, l.turns, back, last)
		if passed += seen; len(out) > before {
			passed = 0
		}
		if most > 0 && passed >= len(l.turns) {
			break
		}
	}
	return out
}
