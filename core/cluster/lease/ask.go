package lease

import (
	"time"

	"drover/core"
)

// Draft is a lease to be made.
type Draft struct {
	Name         string        `json:"name" doc:"for people"`
	Class        string        `json:"class,omitempty" doc:"the class whose submissions use it"`
	Submitters   []string      `json:"submitters,omitempty" doc:"the users whose requests use it"`
	Start        int64         `json:"start_ms,omitempty" doc:"ms since 1970; 0: now"`
	End          int64         `json:"end_ms" doc:"ms since 1970"`
	BeforeEnd    time.Duration `json:"before_end_ns,omitempty" doc:"so long before its end a notice is given; 0: none"`
	Grace        time.Duration `json:"grace_ns,omitempty" doc:"so long after its end what runs may go on"`
	Reservations []Want        `json:"reservations" doc:"what is reserved"`
	Notify       []string      `json:"notify,omitempty" doc:"ids of webhooks that are told what happens to it; those of its class are told too"`
}

// Want is one reservation of a draft.
type Want struct {
	Pools    []string      `json:"pools" doc:"of units: the pool; of whole hosts: the pools whose VMs run there"`
	Units    int           `json:"units,omitempty" doc:"VMs of the pool; 0: whole hosts"`
	Affinity core.Affinity `json:"affinity,omitempty" doc:"of units: true: all on one host, false: each on another one; empty: any"`
	MinHosts int           `json:"min_hosts,omitempty" doc:"whole hosts: so many at least"`
	MaxHosts int           `json:"max_hosts,omitempty" doc:"whole hosts: so many at most; 0: as many as at least"`
	Requires string        `json:"requires,omitempty" doc:"of hosts, such as zone=a,gpu!=no,cores>=8"`
}

// Change is what changes of a lease; nil fields stay. Reservations are named by their places; more than there are adds
// some.
type Change struct {
	Name         *string        `json:"name,omitempty"`
	Start        *int64         `json:"start_ms,omitempty" doc:"of a lease that has not started"`
	End          *int64         `json:"end_ms,omitempty" doc:"not before now"`
	BeforeEnd    *time.Duration `json:"before_end_ns,omitempty"`
	Grace        *time.Duration `json:"grace_ns,omitempty"`
	Class        *string        `json:"class,omitempty"`
	Submitters   *[]string      `json:"submitters,omitempty"`
	Reservations *[]Want        `json:"reservations,omitempty" doc:"all of them, in order; of a lease that has started the units may only grow"`
	Notify       *[]string      `json:"notify,omitempty"`
}

// View is what a calendar shows of a time: hosts × time.
type View struct {
	From   int64        `json:"from_ms"` // ms since 1970, as all moments here
	To     int64        `json:"to_ms"`
	Now    int64        `json:"now_ms"`
	Hosts  []HostView   `json:"hosts"`
	Leases []core.Lease `json:"leases"` // that touch the time, by start; ended ones included
	Free   []Stretch    `json:"free"`   // units of the pool that was asked for, on all hosts together
	Due    []Due        `json:"due"`    // what is due in the time
}

// HostView is one host of a calendar.
type HostView struct {
	Name   string    `json:"name"`
	Out    string    `json:"out,omitempty"` // why it holds no reservations now; "": it does
	Blocks []Block   `json:"blocks"`
	Free   []Stretch `json:"free"` // in order, without gaps
}

// Block is what one reservation holds on a host.
type Block struct {
	Lease       string `json:"lease,omitempty"` // id
	Name        string `json:"name,omitempty"`
	Reservation int    `json:"reservation"`
	From        int64  `json:"from_ms"`
	To          int64  `json:"to_ms"`
	Units       int    `json:"units"`
	Whole       bool   `json:"whole,omitempty"`
}

// Stretch is a time in which as much is free.
type Stretch struct {
	From  int64     `json:"from_ms"`
	To    int64     `json:"to_ms"`
	Room  core.Size `json:"room"`            // that no lease holds
	Units int       `json:"units,omitempty"` // of the pool that was asked for; else 0
}

// Due is a moment that matters to those who reserve, such as the deadline of an assignment.
type Due struct {
	At    int64  `json:"at_ms"`
	Class string `json:"class,omitempty"`
	Title string `json:"title"`
	Link  string `json:"link,omitempty"` // path of a page; "" if there is none
}
