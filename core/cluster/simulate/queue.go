package simulate

import (
	"slices"

	"drover/core"
)

// queue is what waits for one pool. It gives requests out in the order of the scripts dequeue.lua and by_priority.lua.
type queue struct {
	lines   map[core.Priority]*line
	tickets int // all that were ever taken
	waiting int
}

// line is what waits with one priority: submitters take turns, and each one's requests keep their order.
type line struct {
	turns []string
	of    map[string][]int
}

func newQueue() *queue {
	q := &queue{lines: make(map[core.Priority]*line)}
	for _, p := range core.Priorities() {
		q.lines[p] = &line{of: make(map[string][]int)}
	}
	return q
}

// add puts a request behind its submitter's others.
func (q *queue) add(priority core.Priority, submitter string, request int) {
	l := q.lines[priority]
	if len(l.of[submitter]) == 0 {
		l.turns = append(l.turns, submitter)
	}
	l.of[submitter] = append(l.of[submitter], request)
	q.waiting++
}

// take takes up to so many requests.
func (q *queue) take(want int) []int {
	var out []int
	byPriority(want, q.tickets, func(p core.Priority, n int) int {
		got := q.lines[p].take(n)
		out = append(out, got...)
		return n - len(got)
	})
	q.tickets += len(out)
	q.waiting -= len(out)
	return out
}

// Of every ten tickets each priority gets some, in this order.
const tickets = 10

func cycle() [tickets]core.Priority {
	const h, n, l = core.PriorityHigh, core.PriorityNormal, core.PriorityLow
	return [...]core.Priority{h, n, h, h, n, h, l, h, n, h}
}

// byPriority shares a demand among the priorities. take returns how many it lacks of those that it is asked for.
func byPriority(want, taken int, take func(core.Priority, int) int) {
	order, quota, cycle := core.Priorities(), make(map[core.Priority]int), cycle()
	for i := range tickets {
		quota[cycle[i]] += want / tickets
	}
	for i := range want % tickets {
		quota[cycle[(taken+i)%tickets]]++
	}
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

// maxRounds is after how many rounds of turns one call ends.
const maxRounds = 64

// take lets submitters take turns until it has so many, and puts those that have more behind the others: last those
// that got one more than the others.
func (l *line) take(want int) (out []int) {
	for range maxRounds {
		n := min(want, len(l.turns))
		if n == 0 {
			break
		}
		now := slices.Clone(l.turns[:n])
		l.turns = l.turns[n:]
		share, extra := want/n, want%n
		var back, last []string
		for i, submitter := range now {
			count := share
			if i < extra {
				count++
			}
			has := l.of[submitter]
			got := min(count, len(has))
			out, want = append(out, has[:got]...), want-got
			switch rest := has[got:]; {
			case len(rest) == 0:
				delete(l.of, submitter)
			case i < extra:
				l.of[submitter], last = rest, append(last, submitter)
			default:
				l.of[submitter], back = rest, append(back, submitter)
			}
		}
		l.turns = append(append(l.turns, back...), last...)
	}
	return out
}
