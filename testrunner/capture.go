package testrunner

import (
	"strings"

	"drover/core/agent"
)

// capture keeps the beginning of a run's two streams. It is used by one
// goroutine at a time.
type capture struct {
	limit          int64
	stdout, stderr strings.Builder
	cutOut, cutErr bool // the stream was longer than what is kept
}

func (c *capture) add(stream string, data []byte) {
	into, cut := &c.stdout, &c.cutOut
	if stream == agent.Stderr {
		into, cut = &c.stderr, &c.cutErr
	}
	if room := c.limit - int64(into.Len()); int64(len(data)) > room {
		data, *cut = data[:max(room, 0)], true
	}
	into.Write(data)
}

// text makes a stream valid UTF-8, as results require.
func text(b *strings.Builder) string { return strings.ToValidUTF8(b.String(), "\ufffd") }
