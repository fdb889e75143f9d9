package requests

import (
	"fmt"
	"strconv"

	"drover/core"
	"drover/core/service/pattern"
)

// cursor is how far a reader is.
type cursor struct {
	generation int
	token      string // of the attempt whose output it reads; "" for none yet
	after      string // position there: all before and at it was told
	out, err   int64  // bytes of stdout and stderr that were sent, or are known to be missing
	state      core.RequestState
}

// mark is the form of an event's id. It holds nothing that a header could not.
var mark = pattern.New(`^([0-9]{1,6})~([0-9.]{0,40})~([0-9-]{0,40})~([0-9]{1,15})~([0-9]{1,15})~([a-z_]{0,20})$`)

func (c cursor) String() string {
	return fmt.Sprintf("%d~%s~%s~%d~%d~%s", c.generation, c.token, c.after, c.out, c.err, c.state)
}

// readCursor reads an event's id. What is none begins anew.
func readCursor(id string) cursor {
	m := mark().FindStringSubmatch(id)
	if m == nil {
		return cursor{}
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // few digits, and nothing else
		return n
	}
	return cursor{
		generation: int(number(m[1])), token: m[2], after: m[3], out: number(m[4]), err: number(m[5]), state: core.RequestState(m[6]),
	}
}

// sent counts the bytes of one of the streams.
func (c *cursor) sent(stream string) *int64 {
	if stream == streamErr {
		return &c.err
	}
	return &c.out
}
