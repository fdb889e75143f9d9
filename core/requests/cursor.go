package requests

import (
	"fmt"
	"strconv"

	"drover/core"
	"drover/core/service/pattern"
)

// cursor is a reader's position in the events of a request.
type cursor struct {
	generation int
	token      string // of the attempt whose output is being read; "" for none yet
	after      string // position in the live output: all chunks up to it were sent
	out, err   int64  // bytes of stdout and stderr that were sent, or are known to be missing
	state      core.RequestState
}

// mark is the format of an event's id. It has no characters that a header could not hold.
var mark = pattern.New(`^([0-9]{1,6})~([0-9.]{0,40})~([0-9-]{0,40})~([0-9]{1,15})~([0-9]{1,15})~([a-z_]{0,20})$`)

func (c cursor) String() string {
	return fmt.Sprintf("%d~%s~%s~%d~%d~%s", c.generation, c.token, c.after, c.out, c.err, c.state)
}

// readCursor reads an event's id. An invalid id is the beginning.
func readCursor(id string) cursor {
	m := mark().FindStringSubmatch(id)
	if m == nil {
		return cursor{}
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // a few digits: cannot fail
		return n
	}
	return cursor{
		generation: int(number(m[1])), token: m[2], after: m[3], out: number(m[4]), err: number(m[5]), state: core.RequestState(m[6]),
	}
}

// sent returns the counter of bytes of a stream.
func (c *cursor) sent(stream string) *int64 {
	if stream == streamErr {
		return &c.err
	}
	return &c.out
}
