package core

import (
	"context"
	"encoding/json"
	"time"
)

// Claim is a request and a VM, taken together by one owner.
type Claim struct {
	Key       string
	Text      string // the spec as Redis holds it; ReadSpec reads it
	VM        string
	Token     string  // every later write names it
	Attempts  int     // platform faults so far; this is attempt Attempts+1
	Since     int64   // ms, the server's clock
	Cancelled string  // who cancelled it before it was claimed; "" if nobody did
	Deaths    []Death // that the request met, oldest first
	Young     bool    // Redis' incarnation is young: its data may be an old copy, and the request may have ended
}

// ReadSpec reads the claim's spec. An unreadable text must not hold back other claims: it gives a spec without a
// command, and the run ends with that error.
func (c *Claim) ReadSpec() Spec {
	var s Spec
	if err := json.Unmarshal([]byte(c.Text), &s); err != nil {
		s = Spec{}
		s.ID, s.Generation, _ = ParseKey(c.Key)
	}
	return s
}

// Finish ends one claim.
type Finish struct {
	Key     string
	Token   string
	Outcome Outcome
}

// Exchange is one call of the hot path: it finishes claims, makes new ones and sends a heartbeat, in one script.
// Owner, Epoch, Lane and Seq identify the call; a repeated call gets the same answer and has no further effect. Only
// Beat may change between repeats. A call that neither finishes nor wants a claim passes on a ring of the bell that
// its owner took and does not need.
type Exchange struct {
	Owner string
	Host  string
	Epoch int64
	Lane  int   // calls of one lane follow one another
	Seq   int64 // grows by one a call of the lane

	Finish    []Finish
	Pools     []string      // in order of preference
	Want      int           // claims wanted
	TokenBase int64         // the claims of this call get the tokens <epoch>.<TokenBase> and following; no other call of the owner that wants claims may use them
	Beat      time.Duration // the call is a heartbeat, and the next is due within this time; 0: it is no heartbeat
}

// Exchanged is the answer of an Exchange.
type Exchanged struct {
	Finished  []bool // per item; false: the token was not the slot's, and nothing moved
	Claims    []Claim
	Slots     int               // slots that Redis has for the owner now; -1 unless the call was a heartbeat
	Cancelled map[string]string // cancelled keys in its slots → who cancelled them; only if the call was a heartbeat
	Draining  bool
	Ready     bool // false: the host must reconcile first, nothing was claimed

	Incarnation string // of Redis
}

// HeldClaim is a claim as its owner holds it.
type HeldClaim struct {
	Claim

	Phase string        // as last reported
	Limit time.Duration // as last reported, what is left of it
}

// Reclaimed says what Redis has of the claims that an owner holds.
type Reclaimed struct {
	Incarnation string // of Redis, to name in the next call
	Held        []bool // per claim; false: it is not the owner's any more
	PutBack     int    // how many of them Redis had lost
}

// Claims is how owners take and finish work.
type Claims interface {
	// Exchange runs one call. Returns FENCED if the owner's epoch is over and
	// STALE if the lane already went past Seq.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Progress reports that a claim entered a phase ("running") or is still in it. The next report, or the end,
	// follows within limit (0: the phase's default); after that its owner counts as hung. Returns STALE if the token
	// is not the slot's.
	Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error
	// Reclaim makes sure that Redis has the claims that an owner holds. One that it does not have was taken away if this
	// is still the incarnation in which the owner made sure of them last. In another ("" is always another) Redis lost
	// it with its memory, and it is put back, unless the request has ended, another owner has claimed it, or its VM is
	// being destroyed. Returns FENCED.
	Reclaim(ctx context.Context, owner, host string, epoch int64, incarnation string, claims []HeldClaim) (Reclaimed, error)
	// Wait returns when the host's bell rings, when something is cancelled for owner, or after poll. It is only a
	// hint: callers must not rely on it and poll. With host "" it ignores the bell: an owner that wants no work must
	// not take a ring meant for others.
	Wait(ctx context.Context, owner, host string, poll time.Duration) error
}

// Place says where in Redis a request is.
type Place struct {
	State    RequestState `json:"state"` // "" if Redis does not have it
	Pool     string       `json:"pool,omitempty"`
	Priority Priority     `json:"priority,omitempty"`
	Owner    string       `json:"owner,omitempty"`
	VM       string       `json:"vm,omitempty"`
	Token    string       `json:"token,omitempty"`
	Since    int64        `json:"since_ms,omitempty"`
	Ahead    int          `json:"ahead"`              // waiting requests of the same submitter, pool and priority before it
	Attempts int          `json:"attempts"`           // platform faults so far
	Due      int64        `json:"due_ms,omitempty"`   // when its next try is due, after a platform fault; ms, the server's clock
	Assigned string       `json:"assigned,omitempty"` // the only host that may take it, for now
}

// Preceding says what goes before a request that waits in its submitter's queue, as of now. A submitter that comes
// later with fewer waiting requests can still overtake it.
type Preceding struct {
	Turns   int              // requests of its pool and priority that go first, by turns
	AtLeast bool             // Turns is a lower bound: there are too many submitters to look at all
	Waiting map[Priority]int // waiting requests of its pool, itself included, by priority
	Parked  int              // parked requests of its pool; they go before the queues
	Soon    bool             // it is due within the hour: of four turns three are those of such requests
	Running int              // requests of its submitter and priority that run, if the pool limits them
	// MostRunning is how many of them the pool lets run at once; 0: any number.
	MostRunning int
}

// CancelScope limits what a cancel may touch.
type CancelScope string

// The scopes of a cancel.
const (
	CancelAny     CancelScope = "any"     // in any place
	CancelWaiting CancelScope = "waiting" // only if no owner has claimed it
)

// CancelWaitingIn is the scope of requests that no owner has claimed and that wait for this pool.
func CancelWaitingIn(pool string) CancelScope { return CancelWaiting + CancelScope(" in "+pool) }

// Queue is the waiting side of requests.
type Queue interface {
	// Enqueue puts accepted requests into their queues. A request that Redis already has, or that ended recently, is
	// left as it is. The answer has one error (or nil) per spec: FULL if a limit on waiting work, or Redis' own
	// memory limit, refuses the request, which is then not queued. If Enqueue itself returns an error, nothing is
	// known about any of them.
	Enqueue(ctx context.Context, specs []Spec) ([]error, error)
	// Present reports for each of the keys whether Redis has it anywhere.
	Present(ctx context.Context, keys []string) ([]bool, error)
	// ReadClock returns what ages are told by. It is read after what is judged by it.
	ReadClock(ctx context.Context) (RedisClock, error)
	// WaitingSince returns since when each of the keys waits again, ms: an owner gave it back or it was queued anew. It
	// is 0 for a request that waits since it was submitted.
	WaitingSince(ctx context.Context, keys []string) ([]int64, error)
	// WaitAnew marks the keys that Redis has as lost and queued anew: their waiting time starts now.
	WaitAnew(ctx context.Context, keys []string) error
	// KnowsEnds reports for each of the keys whether Redis remembers the end of that request or task.
	KnowsEnds(ctx context.Context, keys []string) ([]bool, error)
	// ForgetEnds makes Redis forget these ends, which the result store has lost: Enqueue takes them again.
	ForgetEnds(ctx context.Context, keys []string) error
	// Specs returns the specs of those keys that Redis has.
	Specs(ctx context.Context, keys []string) ([]Spec, error)
	// Promote queues requests whose pause after a fault is over: after the second fault on another host if one has a
	// clean VM, else at the front of their queue. Every heartbeat does the same. Returns how many were queued.
	Promote(ctx context.Context) (int, error)
	// Locate returns the place of one request.
	Locate(ctx context.Context, key string) (Place, error)
	// Preceding returns what goes before a request. Returns false if the request is in no queue.
	Preceding(ctx context.Context, key string) (Preceding, bool, error)
	// Cancel marks a request as cancelled: a claim then does not run it, and its owner stops it. Returns where the
	// request was; State is "" if Redis does not have it or the scope excludes it.
	Cancel(ctx context.Context, key, by string, scope CancelScope) (Place, error)
	// Change gives a waiting request the spec, which the store has, if Redis has it with the change from. Returns the
	// change that Redis had, and whether an owner has claimed the request: then nothing is changed, nor if Redis had
	// another change than from. Returns NOTFOUND if Redis does not have the request (had is -1 then) or the pool; FULL.
	Change(ctx context.Context, spec Spec, from int) (had int, claimed bool, err error)
	// Recalled reports whether owners that lived before this incarnation of Redis have had the time to come back and put
	// back what they hold (Claims.Reclaim): until then, what Redis does not have may be running.
	Recalled(ctx context.Context) (bool, error)
	// Withdraw removes a waiting or parked request whose end is recorded in the
	// store. Returns false if it is not waiting.
	Withdraw(ctx context.Context, key string) (bool, error)
	// DropOutput removes all live output of a request that has ended.
	DropOutput(ctx context.Context, key string) error
	// Waiting counts waiting requests per pool and priority, in all places.
	Waiting(ctx context.Context) ([]QueueInfo, error)
	// Turns lists the next turns of each of the queues in order: first those of requests that are due soon, then the
	// others, at most the given number of either.
	Turns(ctx context.Context, queues []QueueInfo, most int) ([][]Turn, error)
	// ListDead lists keys of dead requests, newest first.
	ListDead(ctx context.Context, limit int) ([]string, error)
	// ForgetDead takes a request off the list of dead requests; its result stays. Returns false if it is not on the
	// list.
	ForgetDead(ctx context.Context, key string) (bool, error)
	// Trim deletes tombstones and dead entries older than keep and returns how many.
	Trim(ctx context.Context, keep time.Duration) (int, error)
}

// QueueInfo counts one pool's waiting work.
type QueueInfo struct {
	Pool       string   `json:"pool"`
	Priority   Priority `json:"priority"`
	Waiting    int      `json:"waiting"`
	Submitters int      `json:"submitters"`
}

// Turn is a submitter's in one queue.
type Turn struct {
	Submitter string `json:"submitter"`
	Waiting   int    `json:"waiting"`        // in its own order
	Next      string `json:"next"`           // key of the first request
	Since     int64  `json:"since_ms"`       // when that request was submitted, ms since 1970; the submitting program's clock
	Soon      bool   `json:"soon,omitempty"` // it is due within the hour: of four turns three are those of such requests
}

// OutputChunk is a piece of live output.
type OutputChunk struct {
	ID     string // position; the next read names it
	Stream string // stdout, stderr, tests, or end
	Offset int64  // bytes of the stream before this chunk; for end, of all streams
	Data   []byte
}

// Output carries live output from the testrunner to those who watch a request. It is capped and short-lived; the
// result in the store has the whole output.
type Output interface {
	// Append adds chunks under a request and its claim's token.
	Append(ctx context.Context, key, token string, chunks []OutputChunk) error
	// Read returns the chunks that follow position after, at most as much as a reader can hold. It waits for them up
	// to wait.
	Read(ctx context.Context, key, token, after string, wait time.Duration) ([]OutputChunk, error)
	// Marks returns the newest chunk of StreamTests if there is one among the last few chunks, and the position of the
	// last chunk of all; "" if there is none.
	Marks(ctx context.Context, key, token string) (OutputChunk, string, error)
}
