package webhook

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// DeliveryID names the delivery to a webhook of an event of the request or task with the key. It is the id of the
// delivery's task and the receiver's webhook-id: the same for the same event whenever it is computed, and greater for
// a later event.
func DeliveryID(at time.Time, event, key, webhook string) string {
	sum := sha256.Sum256([]byte(event + "\n" + key + "\n" + webhook))
	var id ulid.ULID
	// Both fail only for a time after the year 10889 and for fewer than ten bytes.
	_ = id.SetTime(ulid.Timestamp(at))
	_ = id.SetEntropy(sum[:10])
	return strings.ToLower(id.String())
}

// Tries is how often a delivery is tried before it is dead.
const Tries = 10

// pauses are those between two tries: over three days in all, as the standard recommends.
var pauses = [Tries - 1]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// jitter is the random part of a pause, so that deliveries that failed together do not come back together.
const jitter = 0.1

// MaxRetryAfter bounds the pause that a receiver may ask for.
const MaxRetryAfter = 24 * time.Hour

// Pause returns the pause after so many failed tries. Chance is a random number from 0 to 1.
func Pause(tries int, chance float64) time.Duration {
	p := pauses[min(max(tries, 1), len(pauses))-1]
	return p + time.Duration(float64(p)*jitter*(2*chance-1))
}
