package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Exchange implements core.Claims.
func (s *Store) Exchange(ctx context.Context, x core.Exchange) (core.Exchanged, error) {
	if len(x.Finish) > maxBatch || x.Want > maxBatch || x.Want < 0 {
		return core.Exchanged{}, core.Errorf(core.CodeLimit, x.Owner, "one exchange takes at most %d finishes and claims", maxBatch)
	}
	args := make([]any, 0, 16+len(x.Pools)+len(x.Finish))
	args = append(args, x.Owner, x.Host, x.Epoch, x.Lane, x.Seq, x.TokenBase, x.Want,
		x.Beat.Milliseconds(), served{s: s}, len(x.Pools), len(x.Finish))
	args = appendEndings(append(args, anys(x.Pools)...), len(x.Finish), func(i int) ending {
		return ending{x.Finish[i].Key, x.Finish[i].Token, string(x.Finish[i].Outcome)}
	})
	reply, err := s.run(ctx, "exchange", x.Owner, args...)
	if err != nil {
		return core.Exchanged{}, err
	}
	got, err := toExchanged(x, list(reply))
	if err == nil && !got.Ready {
		s.doubt()
	}
	got.Incarnation = s.incarnation()
	for i := range got.Claims {
		got.Claims[i].Young = s.young()
	}
	return got, err
}

// exchangeHead is the number of single values in the exchange script's answer before its list.
const exchangeHead = 10

// toExchanged reads exchange's answer.
func toExchanged(x core.Exchange, f []any) (core.Exchanged, error) {
	wrong := func() (core.Exchanged, error) {
		return core.Exchanged{}, core.Errorf(core.CodeInternal, x.Owner, "the exchange script answered %d parts, which do not fit together", len(f))
	}
	if len(f) < exchangeHead {
		return wrong()
	}
	n, stopped, columns := int(num(f[5])), int(num(f[6])), 1
	faulted := num(f[7]) > 0
	if faulted {
		columns = 4
	}
	keys, vms, row := strings.Fields(str(f[8])), strings.Fields(str(f[9])), f[exchangeHead:]
	if stopped < 0 || len(keys) != n || len(vms) != n || len(row) != stopped+columns*n {
		return wrong()
	}
	stop, specs, row := row[:stopped], row[stopped:stopped+n], row[stopped+n:]
	token, since := strconv.FormatInt(x.Epoch, 10)+"."+strconv.FormatInt(x.TokenBase, 10), num(f[4])
	claims := make([]core.Claim, 0, n)
	for i := range keys {
		if specs[i] == nil {
			continue
		}
		c := core.Claim{Key: keys[i], Text: str(specs[i]), VM: vms[i], Token: token, Since: since}
		if faulted {
			c.Attempts, c.Cancelled, c.Deaths = int(num(row[i])), str(row[n+i]), toDeaths(row[2*n+i])
		}
		claims = append(claims, c)
	}
	return core.Exchanged{
		Finished: verdicts(str(f[0]), len(x.Finish)), Claims: claims, Slots: int(num(f[1])),
		Cancelled: byWhom(any(stop)), Draining: num(f[2]) == 1, Ready: num(f[3]) == 1,
	}, nil
}

// ending is the end of one claim as the scripts read it.
type ending struct{ key, token, outcome string }

// appendEndings writes n endings, grouped into runs of one token and outcome, as the scripts' endings function reads
// them: a batch has few runs, and every argument costs time.
func appendEndings(args []any, n int, at func(int) ending) []any {
	for first := 0; first < n; {
		run := at(first)
		next := first + 1
		for next < n && at(next).token == run.token && at(next).outcome == run.outcome {
			next++
		}
		args = append(args, run.token, run.outcome, next-first)
		for i := first; i < next; i++ {
			args = append(args, at(i).key)
		}
		first = next
	}
	return args
}

func verdicts(word string, n int) []bool {
	out := make([]bool, n)
	for i := range min(n, len(word)) {
		out[i] = word[i] == '1'
	}
	return out
}

// Progress implements core.Claims.
func (s *Store) Progress(ctx context.Context, owner string, epoch int64, key, token, phase string, limit time.Duration) error {
	_, err := s.run(ctx, "progress", key, owner, epoch, key, token, phase, limit.Milliseconds())
	return err
}

// Reclaim implements core.Claims.
func (s *Store) Reclaim(ctx context.Context, owner, host string, epoch int64, incarnation string, claims []core.HeldClaim) (core.Reclaimed, error) {
	out := core.Reclaimed{Incarnation: s.incarnation()}
	for chunk := range slices.Chunk(claims, maxBatch) {
		args := []any{owner, host, epoch, incarnation, served{s: s}}
		for _, c := range chunk {
			args = append(args, c.Key, c.VM, c.Token, c.Phase, c.Limit.Milliseconds(), c.Attempts, deathsText(c.Deaths), c.Text)
		}
		reply, err := s.run(ctx, "reclaim", owner, args...)
		if err != nil {
			return out, err
		}
		verdicts := strs(reply)
		if len(verdicts) != len(chunk) {
			return out, core.Errorf(core.CodeInternal, owner, "the reclaim script answered %d parts", len(verdicts))
		}
		for _, v := range verdicts {
			out.Held = append(out.Held, v != "gone")
			if v == "back" {
				out.PutBack++
			}
		}
	}
	return out, nil
}

// Wait implements core.Claims.
func (s *Store) Wait(ctx context.Context, owner, host string, poll time.Duration) error {
	notice := s.space.Key("notice", owner)
	if host == "" {
		return s.await(ctx, poll, notice, "")
	}
	return s.await(ctx, poll, notice, s.space.Key("bell", host))
}

// await blocks until the notice comes, the bell rings, poll is over or ctx ends; notice and bell may be empty. The
// client does not interrupt a blocked read when ctx ends. The read then ends in the background, and a ring that it
// takes is passed on.
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

// pop returns the first of the lists that had an entry, "" if none did until poll was over.
func (s *Store) pop(ctx context.Context, poll time.Duration, lists ...string) (string, error) {
	args := []any{"blpop"}
	for _, l := range lists {
		if l != "" {
			args = append(args, l)
		}
	}
	// Redis takes a timeout of 0 as forever. The client's own method rounds to seconds.
	poll = max(poll, time.Millisecond)
	args = append(args, strconv.FormatFloat(poll.Seconds(), 'f', 3, 64))
	ctx, cancel := context.WithTimeout(ctx, poll+slack)
	defer cancel()
	got, err := s.once.Do(ctx, args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if err != nil || len(got) == 0 {
		return "", err
	}
	return got[0], nil
}

// ringAgain rings a bell, which holds at most one ring. Errors are ignored: those that wait for the bell also poll.
func (s *Store) ringAgain(ctx context.Context, bell string) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	_, _ = s.db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.LPush(ctx, bell, "1")
		p.LTrim(ctx, bell, 0, 0)
		return nil
	})
}

// slack is how much longer than requested a blocking call may take.
const slack = 10 * time.Second
