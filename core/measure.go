package core

import "time"

// HostMeasure is what the vmfactory of a host measured last.
type HostMeasure struct {
	At       int64     `json:"at_ms"`               // when Redis got it, by its clock
	Within   int64     `json:"within_ms,omitempty"` // time after which the host sends another one, ms, however little has changed
	Free     Size      `json:"free"`                // of the processors' time, of memory, and of the VMs' disk if the host's size has that
	Pressure *Pressure `json:"pressure,omitempty"`  // nil: the host's kernel does not measure it
}

// Pressure says in which part of the last ten seconds some program waited for what it lacked, in percent.
type Pressure struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	IO     float64 `json:"io"`
}

// How often hosts send what they measure. The time between two measures grows with the number of hosts, so all hosts
// together send at most so many in a second.
const (
	MeasureWithin  = 10 * time.Second      // at the latest, in a small cluster
	MeasurePerHost = 20 * time.Millisecond // the same in a large one, for each host: 50 in a second
	MeasureSoonest = 5                     // on a change one may follow after one in so many parts of that time: 250 in a second
	MeasureCurrent = 3                     // a measure is current for so many of these times
)

// Current reports whether a measure is not too old.
func (m HostMeasure) Current(now time.Time) bool {
	age := now.UnixMilli() - m.At
	return max(age, -age) <= MeasureCurrent*m.Within
}
