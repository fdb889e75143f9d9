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
	Cancelled string  // who asked to stop it before it was claimed; "" if nobody
	Deaths    []Death // that the request met, oldest first
	Young     bool    // Redis' incarnation is young: it may have been set back, and the request have ended
}

// ReadSpec reads the claim's spec. A text that is none must not hold back other
// claims: it gives a spec without a command, whose run ends by that.
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

// Exchange is one call of the hot path: finish n, claim k, beat, in one script.
// Owner, Epoch, Lane and Seq name the call; the same call again gets the same
// answer and acts once. Only Beat may change between repeats. A call that neither
// finishes nor wants anything passes on a ring that its owner took and does not need.
type Exchange struct {
	Owner string
	Host  string
	Epoch int64
	Lane  int   // calls of one lane follow one another
	Seq   int64 // grows by one a call of the lane

	Finish    []Finish
	Pools     []string      // in the order to look in
	Want      int           // claims wanted
	TokenBase int64         // the claims of this call get the token <epoch>.<TokenBase>: no other call of the owner that wants claims may have it
	Beat      time.Duration // the call is a heartbeat, and the next is due within; 0: it is none
}

// Exchanged is the answer of an Exchange.
type Exchanged struct {
	Finished  []bool // per item: false means the token was not the slot's, nothing moved
	Claims    []Claim
	Slots     int               // how many slots Redis has for the owner now; -1 unless the call was a heartbeat
	Cancelled map[string]string // keys in its slots that somebody cancelled → who; only if the call was a heartbeat
	Draining  bool
	Ready     bool // false: the host must reconcile first, nothing was claimed
}

// Claims is how owners take and end work.
type Claims interface {
	// Exchange runs one call. Returns FENCED if the owner's epoch is over and
	// STALE if the lane already went past Seq.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Progress notes that a claim entered a phase ("running"), or goes on in it,
	// and that it will end or be heard of again within limit (0: the phase's own):
	// later than that its owner counts as hung. Returns STALE if the token is not the slot's.
	Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error
	// Wait returns when the host's bell rings, when something is cancelled for
	// owner, or after poll. It is a hint: the poll is the truth. With host "" no
	// bell ends it: an owner that wants no work must not take a ring meant for others.
	Wait(ctx context.Context, owner, host string, poll time.Duration) error
}

// Place says where Redis has a request.
type Place struct {
	State    RequestState `json:"state"` // "" if Redis does not have it
	Pool     string       `json:"pool,omitempty"`
	Priority Priority     `json:"priority,omitempty"`
	Owner    string       `json:"owner,omitempty"`
	VM       string       `json:"vm,omitempty"`
	Token    string       `json:"token,omitempty"`
	Since    int64        `json:"since_ms,omitempty"`
	Ahead    int          `json:"ahead"`              // of the same submitter, pool and class
	Attempts int          `json:"attempts"`           // platform faults so far
	Due      int64        `json:"due_ms,omitempty"`   // of its next try, after a platform fault; ms, the server's clock
	Assigned string       `json:"assigned,omitempty"` // the only host that takes it, for now
}

// Preceding says what goes before a request that waits in its submitter's queue, as things
// stand: whoever comes later with fewer waiting can still go first.
type Preceding struct {
	Turns   int              // of its pool and class, by turns
	AtLeast bool             // or more: there are too many submitters to look at all
	Waiting map[Priority]int // of its pool, wherever they wait, it and those before it included
	Parked  int              // of its pool; they go before the queues
}

// CancelScope limits what a cancel may touch.
type CancelScope string

// The scopes.
const (
	CancelAny     CancelScope = "any"     // wherever it is
	CancelWaiting CancelScope = "waiting" // only if nobody has begun it
)

// Queue is the waiting side of requests.
type Queue interface {
	// Enqueue puts accepted requests into their queues; one that Redis has
	// already, or that ended lately, stays as it is. The answer has one error
	// (or nil) per spec: FULL where a limit on waiting work, or Redis' own on memory, refuses
	// it, and then it is not queued. An error instead of an answer says nothing of any of them.
	Enqueue(ctx context.Context, specs []Spec) ([]error, error)
	// Present says which of the keys Redis has anywhere.
	Present(ctx context.Context, keys []string) ([]bool, error)
	// Waits says how long each of the keys has waited since it was given back by an owner, or
	// queued anew: by Redis' clock, below 0 for one that waits since it was submitted.
	Waits(ctx context.Context, keys []string) ([]time.Duration, error)
	// WaitAnew notes that those of the keys that Redis has were lost and queued anew.
	WaitAnew(ctx context.Context, keys []string) error
	// Specs returns the specs of those of the keys that Redis has.
	Specs(ctx context.Context, keys []string) ([]Spec, error)
	// Promote lets retries go whose pause is over: to another host after the second
	// fault, if one has a clean VM, else to the front of the queue. Every heartbeat
	// does the same. Returns how many went.
	Promote(ctx context.Context) (int, error)
	// Locate says where one request is.
	Locate(ctx context.Context, key string) (Place, error)
	// Preceding says what goes before a request. Returns false if it is in no queue.
	Preceding(ctx context.Context, key string) (Preceding, bool, error)
	// Cancel marks a request: a claim then does not run it, and its owner stops
	// it. The place is where it was; State is "" if Redis does not have it or the scope forbids.
	Cancel(ctx context.Context, key, by string, scope CancelScope) (Place, error)
	// Withdraw removes a waiting or parked request whose end is recorded in the
	// store. Returns false if it is not waiting.
	Withdraw(ctx context.Context, key string) (bool, error)
	// Waiting counts waiting requests per pool and class, wherever they wait.
	Waiting(ctx context.Context) ([]QueueInfo, error)
	// Turns lists, for each of the queues, whose turn is next, at most so many, in order.
	Turns(ctx context.Context, queues []QueueInfo, most int) ([][]Turn, error)
	// ListDead lists keys of dead requests, newest first.
	ListDead(ctx context.Context, limit int) ([]string, error)
	// ForgetDead takes a request off that list; its result stays. Returns false if it is not there.
	ForgetDead(ctx context.Context, key string) (bool, error)
	// Trim forgets tombstones and dead entries older than keep and returns how many.
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
	Waiting   int    `json:"waiting"`  // in its own order
	Next      string `json:"next"`     // key of the first
	Since     int64  `json:"since_ms"` // when that was submitted; the submitting program's clock
}

// OutputChunk is a piece of live output.
type OutputChunk struct {
	ID     string // position; the next read names it
	Stream string // stdout, stderr, or end
	Offset int64  // bytes of the stream before it; of end, those of all streams
	Data   []byte
}

// Output carries live output from the runner to whoever watches. It is capped
// and short-lived; the result in the store is the whole.
type Output interface {
	// Append adds chunks under a request and its claim's token.
	Append(ctx context.Context, key, token string, chunks []OutputChunk) error
	// Read returns what follows next after, at most so much as a reader can hold, waiting
	// up to wait for something.
	Read(ctx context.Context, key, token, after string, wait time.Duration) ([]OutputChunk, error)
}
