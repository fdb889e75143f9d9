package placement

import (
	"math"
	"time"

	"drover/core"
)

// memory is how long claims count: one counts for a part of 1/e after so long.
const memory = 5 * time.Minute

// rareRate is the rate of claims per second below which no VM is kept warm for them: one claim alone is that rare
// after twelve minutes.
const rareRate = 1.0 / 3600

// rated is how often a rate without new claims is brought up to date.
const rated = 15 * time.Second

// Learn returns how much a pool is used, brought up to date with its claims so far. It changes nothing if there is
// nothing worth recording. Now is in ms since 1970, by one clock for all rounds.
//
// The rate is a moving average with exponential weights over the last minutes.
func Learn(u core.Use, now int64) core.Use {
	n := u.Claims - u.Counted
	if n < 0 {
		n = u.Claims // Redis began anew
	}
	since := time.Duration(now-u.Rated) * time.Millisecond
	switch {
	case u.Rated == 0 || since < 0:
		since, u.Rate = 0, 0 // the first round; or the clock was set back
	case n == 0 && (u.Rate == 0 || since < rated):
		return u
	}
	u.Rate = u.Rate*math.Exp(-since.Seconds()/memory.Seconds()) + float64(n)/memory.Seconds()
	if u.Rate < rareRate/100 {
		u.Rate = 0
	}
	if n > 0 || u.At == 0 || u.At > now {
		u.At = now
	}
	u.Counted, u.Rated = u.Claims, now
	return u
}

// missed is the part of claims that may find no clean VM.
const missed = 0.01

// WarmFor returns how many clean VMs let all but one in a hundred claims find one, if claims come at random at a rate
// per second and a VM that is taken is replaced after the given time; 0 for a rate at which none is kept.
//
// This is a stock that is refilled one for one: by Palm's theorem the VMs on order are Poisson distributed whatever
// the time to make one varies like, and a claim misses if all of the stock is on order (Feeney and Sherbrooke, "The
// (s-1, s) inventory policy under compound Poisson demand", Management Science 12, 1966).
func WarmFor(rate float64, refill time.Duration) int {
	if rate < rareRate {
		return 0
	}
	mean := rate * refill.Seconds()
	if mean > 100 { // the normal distribution is as good
		return int(math.Ceil(mean + 2.33*math.Sqrt(mean)))
	}
	part := math.Exp(-mean)
	below := part // the probability that fewer than n are on order
	n := 1
	for ; 1-below > missed; n++ {
		part *= mean / float64(n)
		below += part
	}
	return n
}

// Asleep reports whether nothing is to be kept warm for a pool that is used so.
func Asleep(p core.Pool, u core.Use, waiting, busy int, now int64) bool {
	return p.IdleAfter > 0 && waiting+busy == 0 && u.At > 0 && now-u.At >= p.IdleAfter.Milliseconds()
}
