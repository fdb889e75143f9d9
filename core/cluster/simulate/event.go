package simulate

import (
	"cmp"
	"container/heap"
)

// event is something that happens on a host.
type event struct {
	at, seq    int64
	what       what
	host, pool int
	request    int
	instance   string // that joins
	life       int    // of the host: what was pushed before it ended is of no use
}

type what int

const (
	runEnds what = iota
	vmMade
	surplusLasts // the time for which more clean VMs than wanted are kept is over
	isDueSoon    // a request, wherever it is
	hostJoins    // of a group
)

// events is a heap of events, the next one first, those of one moment in the order in which they were pushed.
type events struct {
	all  byTime
	many int64
}

func (e *events) push(one event) {
	e.many++
	one.seq = e.many
	heap.Push(&e.all, one)
}

// first returns the next event; nil if there is none.
func (e *events) first() *event {
	if len(e.all) == 0 {
		return nil
	}
	return &e.all[0]
}

func (e *events) pop() event {
	one := *e.first()
	heap.Pop(&e.all)
	return one
}

type byTime []event

func (q byTime) Len() int { return len(q) }

func (q byTime) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}

func (q byTime) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *byTime) Push(x any) {
	if e, ok := x.(event); ok {
		*q = append(*q, e)
	}
}

func (q *byTime) Pop() any {
	last := len(*q) - 1
	*q = (*q)[:last]
	return nil
}
