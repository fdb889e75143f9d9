package account

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"

	"drover/core"
	"drover/core/school"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"
)

// Cost are the parameters of hashing a password.
type Cost struct {
	Memory     uint32 // KiB
	Iterations uint32
}

// DefaultCost is the first that OWASP's Password Storage Cheat Sheet recommends.
var DefaultCost = Cost{Memory: 19 << 10, Iterations: 2}

// maxQueue is how many callers may wait for their turn to hash; further ones are refused.
const maxQueue = 64

// Hasher hashes passwords by argon2id, at most one at a time for each processor: each takes memory, and strangers
// decide how many there are.
type Hasher struct {
	params *argon2id.Params
	dummy  string // a hash that no password has
	turns  chan struct{}
	queue  atomic.Int64
	done   atomic.Int64
}

// NewHasher makes a Hasher. Returns INTERNAL.
func NewHasher(cost Cost) (*Hasher, error) {
	h := &Hasher{
		params: &argon2id.Params{Memory: cost.Memory, Iterations: cost.Iterations, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		turns:  make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	var err error
	h.dummy, err = argon2id.CreateHash("", h.params)
	return h, core.Wrap(err, core.CodeInternal, "", "no hash can be made")
}

// Count returns how many hashes were made.
func (h *Hasher) Count() int64 { return h.done.Load() }

// turn waits for a turn and runs do. Returns FULL if too many wait already.
func (h *Hasher) turn(ctx context.Context, do func() error) error {
	defer h.queue.Add(-1)
	if h.queue.Add(1) > int64(maxQueue+cap(h.turns)) {
		return core.Errorf(core.CodeFull, "", "too many sign in at this moment: try again in a few seconds")
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	h.done.Add(1)
	return do()
}

// Hash hashes a password, in PHC string format. Returns FULL, INTERNAL.
func (h *Hasher) Hash(ctx context.Context, password string) (phc string, err error) {
	err = h.turn(ctx, func() error {
		phc, err = argon2id.CreateHash(norm.NFKC.String(password), h.params)
		return core.Wrap(err, core.CodeInternal, "", "no hash can be made")
	})
	return phc, err
}

// Verify compares a password with a hash; stale reports that the hash has other parameters than today's. For the hash
// "" it takes as long and returns false. Returns FULL.
func (h *Hasher) Verify(ctx context.Context, phc, password string) (right, stale bool, err error) {
	known := phc != ""
	if !known {
		phc = h.dummy
	}
	err = h.turn(ctx, func() error {
		same, params, err := argon2id.CheckHash(norm.NFKC.String(password), phc)
		if err != nil {
			return core.Wrap(err, core.CodeInternal, "", "the hash of a password cannot be read")
		}
		right, stale = same && known, *params != *h.params
		return nil
	})
	return right, stale, err
}

// The bounds of a password, in bytes.
const (
	MinPassword = 8
	MaxPassword = 256
)

// CheckPassword checks whether a user may have a password. Returns INVALID.
func CheckPassword(u school.User, password string) error {
	lower := strings.ToLower(norm.NFKC.String(password))
	mailbox, _, _ := strings.Cut(u.Email, "@")
	switch {
	case len(password) < MinPassword:
		return core.Errorf(core.CodeInvalid, u.Handle, "the password is too short: use at least %d characters, such as a few words", MinPassword)
	case len(password) > MaxPassword:
		return core.Errorf(core.CodeInvalid, u.Handle, "the password is too long: use at most %d bytes", MaxPassword)
	case lower == u.Handle, lower == u.Email, lower == mailbox, lower == strings.ToLower(u.Name):
		return core.Errorf(core.CodeInvalid, u.Handle, "the password is your own name: use something that nobody guesses, such as a few words")
	case common[lower], strings.Count(lower, lower[:1]) == len(lower):
		return core.Errorf(core.CodeInvalid, u.Handle, "the password is one of the commonest, which are tried first: use another one, such as a few words")
	}
	return nil
}

// common are the most common passwords that are long enough.
var common = func() map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(`
		12345678 123456789 1234567890 12345678910 0123456789 87654321 987654321 0987654321 11223344 12341234 123123123 147258369
		1q2w3e4r 1q2w3e4r5t 1qaz2wsx qwertyui qwertyuiop qwerty123 qwerty12 qwertz123 qwertzui qwertzuiop asdfghjk asdfghjkl
		password password1 password12 password123 password! passw0rd p@ssw0rd p@ssword pa55word passwort passwort1 passwort123
		abcdefgh abcdefghi abcd1234 abc12345 abc123456 a1b2c3d4 aa123456 1234abcd 123456ab iloveyou iloveyou1 ichliebedich
		football baseball basketball superman batman123 sunshine princess princess1 starwars computer internet whatever
		trustno1 letmein1 welcome1 welcome123 changeme changeme1 michelle jennifer charlie1 dragon123 monkey123 master123
		admin123 admin1234 administrator root1234 testtest test1234 student1 student123 schueler geheim123 hallo123 hallohallo
		drover123 droverdrover correcthorsebatterystaple`) {
		all[word] = true
	}
	return all
}()
