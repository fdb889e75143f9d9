package history

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"drover/core"
)

// ended stands for the state that the result store has.
const ended = "ended"

// eventPlaces is how many changes one event may have, so that each has a place of its own in its millisecond.
const eventPlaces = 1_000_000

// Bounds on what is copied of a text, in bytes.
const (
	mostName = 255
	mostWhy  = 1000
)

// scribe collects the changes of one event.
type scribe struct {
	core.Event

	first int64
	all   []core.StateChange
}

// Changes reads which requests, VMs and hosts one event brought into which state. The end of a request is "ended".
func Changes(e core.Event) []core.StateChange {
	_, n := place(e.ID)
	s := &scribe{Event: e, first: n * eventPlaces}
	switch role, _, _ := core.ParseOwner(e.By); {
	case e.Op == "enqueue" || e.Op == "promote" || e.Op == "unassign":
		s.each(core.EntityRequest, string(core.RequestQueued))
	case e.Op == string(core.RequestRunning):
		s.each(core.EntityRequest, string(core.RequestRunning))
	case e.Op == "cancel":
		s.each(core.EntityRequest, string(core.RequestCancelling))
	case e.Op == "withdraw":
		s.each(core.EntityRequest, ended)
	case role == core.RoleTestrunner && (e.Op == "exchange" || e.Op == "settle" || e.Op == "revoke" || e.Op == "reclaim"):
		s.claimsEnded()
	case e.Op == "create":
		s.each(core.EntityVM, string(core.VMCreating))
	case e.Op == "ready":
		s.ready()
	case e.Op == "retire":
		s.each(core.EntityVM, string(core.VMDirty))
	case e.Op == "destroy":
		s.each(core.EntityVM, string(core.VMDestroying))
	case e.Op == "gone":
		s.gone()
	case strings.HasPrefix(e.Op, "host "), e.Op == "drain", e.Op == "undrain":
		s.host(strings.TrimPrefix(e.Op, "host "))
	}
	s.vms()
	return s.all
}

// add notes a change, with as much of its texts as may be kept.
func (s *scribe) add(kind core.Entity, thing, state, how, with string) {
	if thing == "" || len(thing) > mostName || len(s.all) == eventPlaces || !utf8.ValidString(thing) || strings.ContainsFunc(thing, unicode.IsControl) {
		return
	}
	by := plain(s.By, mostName)
	if by == "-" {
		by = ""
	}
	s.all = append(s.all, core.StateChange{
		Kind: kind, Thing: thing, At: s.At, N: s.first + int64(len(s.all)), State: state, How: plain(how, mostName), By: by,
		With: plain(with, mostName), Why: plain(s.Why, mostWhy),
	})
}

// plain is text of one line, cut to so many bytes.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// each notes what moved, all into one state. What is no request's key is none.
func (s *scribe) each(kind core.Entity, state string) {
	for word := range strings.FieldsSeq(s.Moved) {
		if _, _, err := core.ParseKey(word); kind != core.EntityRequest || err == nil {
			s.add(kind, word, state, s.Op, "")
		}
	}
}

// claimsEnded notes what became of requests whose claims ended, and then who was claimed with which VM.
func (s *scribe) claimsEnded() {
	for word := range strings.FieldsSeq(s.Moved) {
		key, outcome, again := strings.Cut(word, "=")
		outcome, to, placed := strings.Cut(outcome, ">")
		if _, _, err := core.ParseKey(key); err != nil {
			continue
		}
		switch {
		case !again:
			s.add(core.EntityRequest, key, ended, s.Op, "")
		case placed && to == "-":
			s.add(core.EntityRequest, key, string(core.RequestParked), outcome, "")
		default:
			s.add(core.EntityRequest, key, string(core.RequestQueued), outcome, "")
		}
	}
	vms := s.in(string(core.VMClaimed))
	for i, key := range strings.Fields(s.Claimed) {
		vm := ""
		if i < len(vms) {
			vm = vms[i]
		}
		if _, _, err := core.ParseKey(key); err == nil {
			s.add(core.EntityRequest, key, string(core.RequestClaimed), s.Op, vm)
		}
	}
}

// ready notes which creations gave a VM that works.
func (s *scribe) ready() {
	for word := range strings.FieldsSeq(s.Moved) {
		vm, good, _ := strings.Cut(word, "=")
		state := core.VMDirty
		if good == "1" {
			state = core.VMClean
		}
		s.add(core.EntityVM, vm, string(state), s.Op, "")
	}
}

// gone notes which VMs were destroyed, and which could not be.
func (s *scribe) gone() {
	for word := range strings.FieldsSeq(s.Moved) {
		vm, _, quarantined := strings.Cut(word, "=")
		state := core.VMGone
		if quarantined {
			state = core.VMQuarantined
		}
		s.add(core.EntityVM, vm, string(state), s.Op, "")
	}
}

// host notes a host's state, or what else became of it.
func (s *scribe) host(what string) {
	state := ""
	switch what {
	case string(core.HostUp), string(core.HostSuspect), string(core.HostDown):
		state = what
	case string(core.HostFailed):
		state = string(core.HostDown)
	}
	s.add(core.EntityHost, s.Moved, state, what, "")
}

// vms notes the VMs that the event names by their new states.
func (s *scribe) vms() {
	state, claimed, keys := "", 0, strings.Fields(s.Claimed)
	for word := range strings.FieldsSeq(s.VMs) {
		if its, is := strings.CutPrefix(word, "="); is {
			state = its
			continue
		}
		with := ""
		if state == string(core.VMClaimed) && claimed < len(keys) {
			with = keys[claimed]
			claimed++
		}
		s.add(core.EntityVM, word, plain(state, mostName), s.Op, with)
	}
}

// in returns the VMs that the event names as being in a state.
func (s *scribe) in(state string) (vms []string) {
	now := ""
	for word := range strings.FieldsSeq(s.VMs) {
		if its, is := strings.CutPrefix(word, "="); is {
			now = its
		} else if now == state {
			vms = append(vms, word)
		}
	}
	return vms
}
