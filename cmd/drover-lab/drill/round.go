package drill

import (
	"bufio"
	"context"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core/service/clock"
)

// rounds counts overseers that were stopped in the middle of a round of placement.
type rounds struct {
	cut       atomic.Int64 // it had begun to read, and had not ended
	overtaken atomic.Int64 // another overseer wrote a round before it went on
}

// Bounds of the wait for a round.
const (
	roundTries   = 20
	roundTimeout = 5 * time.Second // for all tries
)

// freezeInRound stops an overseer in the middle of a round of placement. Where none comes, as without Redis, it is
// stopped all the same.
func freezeInRound(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	p := f.host.parts[overseerRole]
	number, cut := "", false
	bounded, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	for range roundTries {
		if number, cut = h.stopInRound(bounded, f.host, p); cut || bounded.Err() != nil {
			break
		}
		p.send(syscall.SIGCONT)
	}
	p.send(syscall.SIGSTOP)
	if cut {
		h.rounds.cut.Add(1)
		h.note("fault %d: %s is stopped in the round after number %s", f.n, p.name, number)
	}
	return func(ctx context.Context) error {
		if now, err := h.planned(ctx); cut && err == nil && now != number {
			h.rounds.overtaken.Add(1)
			h.note("fault %d: %s goes on, and the number is %s", f.n, p.name, now)
		}
		p.send(syscall.SIGCONT)
		return nil
	}, nil
}

// planned is the number of the last round of placement, with its times.
func (h *cluster) planned(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return h.client.Redis.Client().HGet(ctx, h.client.Redis.Namespace().Key("meta"), "planned").Result()
}

// stopInRound waits until the host's overseer begins to read for a round, and stops it. It reports whether the overseer
// was still reading: Redis was asked for what is read first, and not yet for what is read last. It returns the number
// that the overseer read.
func (h *cluster) stopInRound(ctx context.Context, o *host, p *component) (number string, cut bool) {
	space := h.client.Redis.Namespace()
	seen, err := monitor(ctx, h.redis.url)
	if err != nil {
		return "", false
	}
	defer seen.close()
	from, key := " "+o.net.address+":", func(name string) string { return `"` + space.Key(name) + `"` }
	if !seen.until(func(line string) bool {
		return strings.Contains(line, from) && strings.Contains(line, key("meta")+` "planned"`)
	}) {
		return "", false
	}
	p.send(syscall.SIGSTOP)
	if !h.await(ctx, time.Second, func(context.Context) bool { return stopped(p.runs()) }) {
		return "", false
	}
	if number, err = h.planned(ctx); err != nil {
		return "", false
	}
	// What comes before this echo came before the overseer had stopped, or is on its way.
	mark := newID()
	if h.client.Redis.Client().Echo(ctx, mark).Err() != nil {
		return "", false
	}
	last := false
	marked := seen.until(func(line string) bool {
		last = last || strings.Contains(line, from) && strings.Contains(line, key("evacuations"))
		return strings.Contains(line, mark)
	})
	return number, marked && !last
}

// stopped reports whether the process is stopped.
func stopped(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text[slices.Index(text, ')')+1:]))
	return fields[0] == "T"
}

// commands are those that a server is given, as lines with their senders' addresses.
type commands struct {
	conn  net.Conn
	lines *bufio.Reader
	stop  func() bool
}

// monitor begins to listen to what the server is given, until ctx ends.
func monitor(ctx context.Context, server string) (*commands, error) {
	at, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return nil, err
	}
	c := &commands{conn: conn, lines: bufio.NewReader(conn)}
	c.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(clock.Real{}.Now()) })
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// until reads until a line is the one; false if the connection ends before.
func (c *commands) until(is func(line string) bool) bool {
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return false
		}
		if is(line) {
			return true
		}
	}
}

func (c *commands) close() {
	c.stop()
	_ = c.conn.Close()
}
