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
		Cancelled: strs(f[4]), Draining: num(f[2]) == 1, Ready: num(f[3]) == 1,
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
			return nil, core.Wrap(err, core.CodeInternal, c.Key, "the spec of request %s in Redis is not readable", c.Key)
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
	keys := []string{s.space.Key("notice", owner)}
	if host != "" {
		keys = append(keys, s.space.Key("bell", host))
	}
	return s.await(ctx, poll, keys...)
}

// await blocks until one of the bells rings or poll is over.
func (s *Store) await(ctx context.Context, poll time.Duration, bells ...string) error {
	args := []any{"blpop"}
	for _, bell := range bells {
		args = append(args, bell)
	}
	// Redis counts a time-out of 0 as for ever. The client's own call rounds to seconds.
	poll = max(poll, time.Millisecond)
	args = append(args, strconv.FormatFloat(poll.Seconds(), 'f', 3, 64))
	err := s.once.WithTimeout(poll+slack).Do(ctx, args...).Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return fault(ctx, err, "")
}

// slack is how much longer than asked a blocking call may take.
const slack = 10 * time.Second
