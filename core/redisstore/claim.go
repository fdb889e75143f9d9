package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Exchange implements core.Claims.
func (s *Store) Exchange(ctx context.Context, x core.Exchange) (core.Exchanged, error) {
	if len(x.Finish) > maxBatch || x.Want > maxBatch || x.Want < 0 {
		return core.Exchanged{}, core.Errorf(core.CodeLimit, x.Owner, "one exchange takes at most %d finishes and claims", maxBatch)
	}
	args := make([]any, 0, 11+len(x.Pools)+3*len(x.Finish))
	args = append(args, x.Owner, x.Host, x.Epoch, x.Lane, x.Seq, x.TokenBase, x.Want,
		x.Beat.Milliseconds(), s.incarnation(), len(x.Pools), len(x.Finish))
	for _, p := range x.Pools {
		args = append(args, p)
	}
	for _, f := range x.Finish {
		args = append(args, f.Key, f.Token, string(f.Outcome))
	}
	reply, err := s.run(ctx, "exchange", x.Owner, args...)
	if err != nil {
		return core.Exchanged{}, err
	}
	f := list(reply)
	if len(f) != 11 {
		return core.Exchanged{}, core.Errorf(core.CodeInternal, x.Owner, "the exchange script answered %d parts", len(f))
	}
	claims, err := toClaims(x, f)
	return core.Exchanged{
		Finished: verdicts(str(f[0]), len(x.Finish)), Claims: claims, Slots: int(num(f[1])),
		Cancelled: byWhom(f[4]), Draining: num(f[2]) == 1, Ready: num(f[3]) == 1,
	}, err
}

func verdicts(word string, n int) []bool {
	out := make([]bool, n)
	for i := range min(n, len(word)) {
		out[i] = word[i] == '1'
	}
	return out
}

// toClaims reads the parts of exchange's answer that are by claim.
func toClaims(x core.Exchange, f []any) ([]core.Claim, error) {
	since, keys, vms, specs, attempts, marks := num(f[5]), list(f[6]), list(f[7]), list(f[8]), list(f[9]), list(f[10])
	token := strconv.FormatInt(x.Epoch, 10) + "." + strconv.FormatInt(x.TokenBase, 10)
	if len(vms) != len(keys) || len(specs) != len(keys) {
		return nil, core.Errorf(core.CodeInternal, x.Owner, "the exchange script answered %d requests, %d VMs and %d specs", len(keys), len(vms), len(specs))
	}
	claims := make([]core.Claim, 0, len(keys))
	for i := range keys {
		if specs[i] == nil {
			continue
		}
		c := core.Claim{
			Key: str(keys[i]), VM: str(vms[i]), Since: since,
			Token: token,
		}
		if len(attempts) > i {
			c.Attempts = int(num(attempts[i]))
		}
		if len(marks) > i {
			c.Cancelled = str(marks[i])
		}
		if err := json.Unmarshal([]byte(str(specs[i])), &c.Spec); err != nil {
			// One bad spec must not hold back the others. It has no command, and ends by that.
			c.Spec = core.Spec{}
			c.Spec.ID, c.Spec.Generation, _ = core.ParseKey(c.Key)
		}
		claims = append(claims, c)
	}
	return claims, nil
}

// Progress implements core.Claims.
func (s *Store) Progress(ctx context.Context, owner string, epoch int64, key, token, phase string) error {
	_, err := s.run(ctx, "progress", key, owner, epoch, key, token, phase)
	return err
}

// Wait implements core.Claims.
func (s *Store) Wait(ctx context.Context, owner, host string, poll time.Duration) error {
	notice := s.space.Key("notice", owner)
	if host == "" {
		return s.await(ctx, poll, notice, "")
	}
	return s.await(ctx, poll, notice, s.space.Key("bell", host))
}

// await blocks until the notice comes, the bell rings, poll is over or ctx ends;
// notice and bell may be empty. The client does not leave a blocked read when
// ctx ends, so the read ends behind, and a ring that it takes then goes back to others.
func (s *Store) await(ctx context.Context, poll time.Duration, notice, bell string) error {
	type rung struct {
		key string
		err error
	}
	got := make(chan rung)
	behind := context.WithoutCancel(ctx)
	go func() {
		key, err := s.pop(behind, poll, notice, bell)
		select {
		case got <- rung{key, err}:
		case <-ctx.Done():
			if key != "" && key == bell {
				s.ringAgain(behind, bell)
			}
		}
	}()
	select {
	case r := <-got:
		return fault(ctx, r.err, "")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pop returns which of the lists had something, "" if none until poll was over.
func (s *Store) pop(ctx context.Context, poll time.Duration, lists ...string) (string, error) {
	args := []any{"blpop"}
	for _, l := range lists {
		if l != "" {
			args = append(args, l)
		}
	}
	// Redis counts a time-out of 0 as for ever. The client's own call rounds to seconds.
	poll = max(poll, time.Millisecond)
	args = append(args, strconv.FormatFloat(poll.Seconds(), 'f', 3, 64))
	got, err := s.once.WithTimeout(poll+slack).Do(ctx, args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if err != nil || len(got) == 0 {
		return "", err
	}
	return got[0], nil
}

// ringAgain rings a bell, which holds at most one ring. If it fails, whoever
// waits for the bell polls.
func (s *Store) ringAgain(ctx context.Context, bell string) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	_, _ = s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LPush(ctx, bell, "1")
		p.LTrim(ctx, bell, 0, 0)
		return nil
	})
}

// slack is how much longer than asked a blocking call may take.
const slack = 10 * time.Second
