package webhook

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// DeliveryID names the delivery to a webhook of what happened at a time to the request
// or task that a key names. It is the id of the delivery's task and what the receiver
// gets as webhook-id: the same for the same happening, whoever makes it and however
// often, and greater for a later one.
func DeliveryID(at time.Time, event, key, webhook string) string {
	sum := sha256.Sum256([]byte(event + "\n" + key + "\n" + webhook))
	var id ulid.ULID
	// Both fail only for a time after the year 10889 and for fewer than ten bytes.
	_ = id.SetTime(ulid.Timestamp(at))
	_ = id.SetEntropy(sum[:10])
	return strings.ToLower(id.String())
}

// Tries is how often a delivery is tried until it is dead.
const Tries = 10

// pauses are those between two tries: over three days, as the standard recommends.
var pauses = [Tries - 1]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// jitter is the part of a pause by which it is longer or shorter by chance, so that what
// failed together does not come back together.
const jitter = 0.1

// MaxRetryAfter bounds the pause that a receiver may ask for.
const MaxRetryAfter = 24 * time.Hour

// Pause is how long a delivery rests after so many tries that failed. Chance is a number
// from 0 to 1.
func Pause(tries int, chance float64) time.Duration {
	p := pauses[min(max(tries, 1), len(pauses))-1]
	return p + time.Duration(float64(p)*jitter*(2*chance-1))
}
