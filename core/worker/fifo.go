package worker

// fifo is a queue that neither frees memory nor moves items.
type fifo[T comparable] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) push(item T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

// pop takes the oldest item; there must be one.
func (q *fifo[T]) pop() T {
	var none T
	item := q.items[q.head]
	q.items[q.head] = none
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}

// remove takes an item out of the middle. It returns false if the item is not there.
func (q *fifo[T]) remove(item T) bool {
	for i := q.head; i < len(q.items); i++ {
		if q.items[i] == item {
			q.items = append(q.items[:i], q.items[i+1:]...)
			return true
		}
	}
	return false
}
