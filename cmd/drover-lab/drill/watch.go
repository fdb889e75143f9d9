package drill

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"drover/core"
	"drover/core/service/clock"
)

// watch measures, from the cluster's own events and the times of the faults, how soon a fault was detected and how
// soon the work ran again. It uses this machine's clock: that of Redis jumps.
type watch struct {
	cluster *cluster

	mu    sync.Mutex
	blows map[string]*blow // by owner: those that nobody has noticed yet
	work  map[string]*blow // by request: work that was held and does not run again yet
	found map[string]*samples
	seen  *evidence

	back  atomic.Bool          // Redis was set back, and the reader does not know yet
	known map[string]happening // the reader's: what it has read, by id
}

// blow is one owner that fell silent.
type blow struct {
	kind    string
	owner   string
	at      time.Time
	noticed bool
}

// samples are the times of one kind of fault.
type samples struct {
	detect, redispatch []time.Duration
}

func newWatch(h *cluster) *watch {
	return &watch{cluster: h, blows: map[string]*blow{}, work: map[string]*blow{}, found: map[string]*samples{}, seen: newEvidence(), known: map[string]happening{}}
}

// about records that owners are about to fall silent, and what they hold. An owner that is not in the cluster at this
// moment, or which Redis cannot report, is not measured.
func (w *watch) about(ctx context.Context, kind string, owners []string) {
	if len(owners) == 0 {
		return
	}
	there := w.there(ctx)
	for _, owner := range owners {
		if !there[owner] {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		held, err := w.cluster.client.Redis.Held(ctx, owner, 0)
		cancel()
		if err == nil {
			w.struck(kind, owner, time.Now(), held)
		}
	}
}

// struck records that an owner falls silent.
func (w *watch) struck(kind, owner string, at time.Time, held []core.Held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.blows[owner]
	if b == nil { // else nobody has noticed the one before yet
		b = &blow{kind: kind, owner: owner, at: at}
		w.blows[owner] = b
	}
	for _, one := range held {
		if one.VM != "" { // a request
			w.work[one.Key] = b
		}
	}
}

// there returns the owners that Redis counts as alive.
func (w *watch) there(ctx context.Context) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	owners, err := w.cluster.client.Redis.ListOwners(ctx)
	if err != nil {
		return nil // it is hurt too
	}
	all := map[string]bool{}
	for _, o := range owners {
		all[o.Name] = o.Deadline > 0
	}
	return all
}

// all reports whether all these owners are alive.
func (w *watch) all(ctx context.Context, owners []string) bool {
	there := w.there(ctx)
	return !slices.ContainsFunc(owners, func(owner string) bool { return !there[owner] })
}

// forget drops all undetected faults: Redis has lost its memory.
func (w *watch) forget() {
	w.seen.forget()
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.blows)
	clear(w.work)
}

// healed forgets the blows that were over before anybody noticed.
func (w *watch) healed(owners []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, owner := range owners {
		if b := w.blows[owner]; b != nil && !strings.HasPrefix(b.kind, "kill") && b.kind != loseHostName && b.kind != shrinkHostName {
			delete(w.blows, owner)
			maps.DeleteFunc(w.work, func(_ string, of *blow) bool { return of == b })
		}
	}
}

// run reads the events until ctx ends.
func (w *watch) run(ctx context.Context) {
	const (
		block = time.Second
		most  = 1000
		pause = 20 * time.Millisecond
	)
	redisClient, last := w.cluster.client.Redis.Client(), "0-0"
	stream := w.cluster.client.Redis.Namespace().Key("events")
	for ctx.Err() == nil {
		if w.back.Swap(false) {
			w.seen.forget()
			last = "0-0"
		}
		read, err := redisClient.XRead(ctx, &redis.XReadArgs{Streams: []string{stream, last}, Count: most, Block: block}).Result()
		if err != nil { // also if there was nothing to read
			if its, unknown := redisClient.XInfoStream(ctx, stream).Result(); unknown == nil && before(its.LastGeneratedID, last) {
				last = "0-0" // Redis was wiped: a new stream
			}
			_ = clock.Sleep(ctx, clock.Real{}, pause) // ctx then ends the loop
			continue
		}
		now := time.Now()
		for _, s := range read {
			for _, m := range s.Messages {
				last = m.ID
				w.happened(now, m)
			}
		}
	}
}

// happened takes in one entry of the stream of events.
func (w *watch) happened(now time.Time, m redis.XMessage) {
	h := happening{op: text(m, "op"), by: text(m, "by"), moved: text(m, "moved"), claimed: text(m, "claimed")}
	// A life that was forgotten may have had another event of the same id.
	same, read := w.known[m.ID]
	again := read && same == h
	w.known[m.ID] = h
	h.at, h.again = now, again
	if h.op == "register" && !h.again {
		h.its = w.who(h.by, text(m, "pid"))
	}
	w.seen.take(h)
	if !h.again {
		w.event(now, h.op, h.by, h.moved)
	}
}

// who returns the process of that number that registered as an owner; nil if the drill does not know it.
func (w *watch) who(owner, number string) *life {
	role, host, wrong := core.ParseOwner(owner)
	pid, err := strconv.Atoi(number)
	if wrong != nil || err != nil {
		return nil
	}
	if w.cluster.elastic != nil && strings.HasPrefix(host, groupName+"-") {
		return w.cluster.elastic.newest(host, pid)
	}
	for _, o := range w.cluster.hosts {
		if p := o.parts[role]; o.name == host && p != nil {
			return p.newest(pid)
		}
	}
	return nil
}

// rewind has the events read again from the first on, because Redis was set back. What it still
// remembers of them is no news.
func (w *watch) rewind() { w.back.Store(true) }

// before compares two ids of a stream by their times. "$" is before none.
func before(id, other string) bool {
	ms := func(id string) int64 {
		text, _, _ := strings.Cut(id, "-")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return ms(id) < ms(other)
}

func text(m redis.XMessage, field string) string {
	s, _ := m.Values[field].(string)
	return s
}

// event takes in what the cluster says happened.
func (w *watch) event(now time.Time, op, by, moved string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch op {
	case "fence", "declare_dead", "register":
		w.noticed(now, by)
	case "host down":
		for owner := range w.blows {
			if _, host, err := core.ParseOwner(owner); err == nil && host == moved {
				w.noticed(now, owner)
			}
		}
	case "running":
		b := w.work[moved]
		if b == nil {
			return
		}
		delete(w.work, moved)
		if by != b.owner || b.noticed { // else it had not lost it
			w.cluster.note("%s runs again by %s, %d ms after %s of %s", moved, by, now.Sub(b.at).Milliseconds(), b.kind, b.owner)
			w.of(b.kind).redispatch = append(w.of(b.kind).redispatch, now.Sub(b.at))
		}
	}
}

// noticed needs the mutex.
func (w *watch) noticed(now time.Time, owner string) {
	b := w.blows[owner]
	if b == nil {
		return
	}
	b.noticed = true
	delete(w.blows, owner)
	w.cluster.note("%s is noticed %d ms after %s", owner, now.Sub(b.at).Milliseconds(), b.kind)
	w.of(b.kind).detect = append(w.of(b.kind).detect, now.Sub(b.at))
}

// of needs the mutex.
func (w *watch) of(kind string) *samples {
	if w.found[kind] == nil {
		w.found[kind] = &samples{}
	}
	return w.found[kind]
}

// times puts the measurements into the report.
func (w *watch) times(r *Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all samples
	for name, s := range w.found {
		r.Recovery[name] = recovery{Detect: spread(s.detect), Redispatch: spread(s.redispatch)}
		all.detect, all.redispatch = slices.Concat(all.detect, s.detect), slices.Concat(all.redispatch, s.redispatch)
	}
	r.DetectMs, r.RedispatchMs = spread(all.detect), spread(all.redispatch)
}

// spread sums times up.
func spread(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.Sort(times)
	at := func(share int) int64 { return times[min(len(times)*share/100, len(times)-1)].Milliseconds() }
	return Spread{N: len(times), P50: at(50), P99: at(99), Max: at(100)}
}
