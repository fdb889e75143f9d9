package requests

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"drover/core"
	"drover/core/requests/intake"
)

// ReplayOptions are what can be chosen of a replay.
type ReplayOptions struct {
	Pool        string // another one whose VMs have the image that the request ran in; "" is the request's
	Idempotency string // the same key of the same actor again is the same replay; "" is none
}

// Replay requests that a finished request is run again as it was, and returns the new request and whether it is new. It
// counts for nothing: it is no submission and no attempt, and nobody is notified. Of a plain request an actor can do so who
// may see it and request runs, of a submission's the staff of its class. Returns NOTFOUND, FORBIDDEN, CONFLICT if it has not
// ended or cannot run as it was any more, INVALID for a replay, LIMIT, FULL, UNAVAILABLE.
func (d *Service) Replay(ctx context.Context, a core.Actor, id string, o ReplayOptions) (View, bool, error) {
	was, err := d.row(ctx, a, id, core.ActRequestView)
	if err != nil {
		return View{}, false, err
	}
	if err := mayReplay(a, &was.Spec); err != nil {
		return View{}, false, err
	}
	if len(o.Idempotency) > intake.MaxIdempotency {
		return View{}, false, core.Errorf(core.CodeLimit, id, "the idempotency key has %d bytes, at most %d are allowed", len(o.Idempotency), intake.MaxIdempotency)
	}
	key := ""
	if o.Idempotency != "" {
		key = "replay/" + o.Idempotency
	}
	row, before, err := d.Intake.Accepted(ctx, a.Handle, key)
	if err == nil && before && (row.Spec.Replays == nil || row.Spec.Replays.ID != id) {
		err = core.Errorf(core.CodeConflict, id, "the idempotency key %q was used for another replay: use another one", o.Idempotency)
	}
	if err != nil {
		return View{}, false, err
	}
	if !before {
		if row, err = d.replay(ctx, a, was, o.Pool, key); err != nil {
			return View{}, false, err
		}
	}
	v := viewOf(row)
	conceal(a, &row.Spec, &v)
	return v, !before, nil
}

// mayReplay returns FORBIDDEN if the actor sees a request but may not run it again as it was.
func mayReplay(a core.Actor, s *core.Spec) error {
	if s.Grades() {
		return core.Allow(a, core.ActExperiment, core.Object{Class: s.ClassOf()})
	}
	return core.Allow(a, core.ActRequestCreate, core.Object{})
}

// replay checks a request that may be replayed, and requests its replay.
func (d *Service) replay(ctx context.Context, a core.Actor, was core.Row, pool, key string) (core.Row, error) {
	id := was.Spec.ID
	switch r := was.Result; {
	case was.Spec.Replays != nil:
		return core.Row{}, core.Errorf(core.CodeInvalid, id, "request %s is itself a replay: replay request %s", id, was.Spec.Replays.ID)
	case r == nil:
		return core.Row{}, core.Errorf(core.CodeConflict, id, "request %s has not ended: replay it then", id)
	case r.Times.Started < 0:
		return core.Row{}, core.Errorf(core.CodeConflict, id, "request %s never ran: there is nothing to run again as it was", id)
	}
	spec := was.Spec.Replay(a.Handle)
	spec.ID, spec.Pool, spec.Idempotency = d.newID(), cmp.Or(pool, spec.Pool), key
	if err := d.sameVMs(ctx, was.Result, spec.Pool); err != nil {
		return core.Row{}, err
	}
	if _, err := d.Intake.Check(ctx, spec); err != nil {
		return core.Row{}, asItWas(&was.Spec, err)
	}
	entry := core.AuditEntry{Action: core.ActRequestCreate, Subject: id, Text: fmt.Sprintf("runs request %s of %s again as it was, as %s, which counts for nothing", id, was.Spec.Submitter, spec.ID)}
	if spec.Grades() && !strings.Contains(spec.ClassOf(), ":") {
		entry.Action, entry.Class = core.ActExperiment, spec.ClassOf()
	}
	var row core.Row
	err := d.entry(ctx, a, entry, func() (err error) {
		row, _, err = d.Intake.Submit(ctx, spec)
		return err
	})
	return row, err
}

// asItWas turns the refusal of a replay into CONFLICT if what is missing was there when the request ran.
func asItWas(was *core.Spec, err error) error {
	if !core.Is(err, core.CodeNotFound) && !core.Is(err, core.CodeInvalid) && !core.Is(err, core.CodeLimit) {
		return err
	}
	if core.Is(err, core.CodeNotFound) && was.Harness != nil && strings.Contains(err.Error(), was.Harness.Digest) {
		return core.Errorf(core.CodeConflict, was.ID,
			"request %s cannot run again as it was: its harness (%s) is not kept any more; it can once a copy of the same content is stored again", was.ID, was.Harness.Digest)
	}
	return core.Errorf(core.CodeConflict, was.ID, "request %s cannot run again as it was: %v", was.ID, err)
}

// sameVMs returns CONFLICT if VMs of a pool are made otherwise than the one that a result came about in: with another image,
// another network, or with a peer or without.
func (d *Service) sameVMs(ctx context.Context, r *core.Result, pool string) error {
	p, err := d.Cluster.GetPool(ctx, pool)
	if core.Is(err, core.CodeNotFound) {
		return core.Errorf(core.CodeConflict, pool, "request %s cannot run again as it was: there is no pool %s any more; name another one whose VMs have the same image", r.ID, pool)
	}
	if err != nil {
		return err
	}
	if is := p.Kind(); r.Receipt != nil && r.Receipt.Network != "" { // older results do not say
		switch {
		case is.Network != r.Receipt.Network:
			return core.Errorf(core.CodeConflict, r.ID,
				"request %s cannot run again as it was: the network of its VM was %q, and that of pool %s is %q; name a pool with the network %q", r.ID, r.Receipt.Network, pool, is.Network, r.Receipt.Network)
		case is.Peer != r.Receipt.Peer:
			return core.Errorf(core.CodeConflict, r.ID,
				"request %s cannot run again as it was: its VM %s, and a VM of pool %s %s; name another pool", r.ID, peered(r.Receipt.Peer, "had"), pool, peered(is.Peer, "has"))
		}
	}
	return d.sameImage(ctx, r, p)
}

// peered says whether a VM has a peer.
func peered(peer bool, verb string) string {
	if peer {
		return verb + " a peer"
	}
	return verb + " no peer"
}

// sameImage returns CONFLICT if VMs of a pool are made from another image than the one that a result came about in. Images
// that are not the cluster's own, such as a host's own system, are compared when the replay has ended.
func (d *Service) sameImage(ctx context.Context, r *core.Result, p core.Pool) (err error) {
	if !strings.HasPrefix(r.Image, "sha256:") {
		return nil
	}
	pool, now := p.Name, core.Image{}
	if p.Image != "" {
		if now, err = d.Store.GetImage(ctx, p.Image); err != nil && !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	if now.Digest == r.Image {
		return nil
	}
	all, err := d.Store.ListImages(ctx)
	if err != nil {
		return err
	}
	has := "no image of the cluster's"
	if now.Digest != "" {
		has = now.Ref()
	}
	kept := slices.IndexFunc(all, func(i core.Image) bool { return i.Digest == r.Image })
	if kept < 0 {
		return core.Errorf(core.CodeConflict, r.ID,
			"request %s cannot run again as it was: it ran in image %s, which is not kept any more, and pool %s has %s; it can once the same image is stored again", r.ID, r.Image, pool, has)
	}
	return core.Errorf(core.CodeConflict, r.ID,
		"request %s cannot run again as it was: it ran in image %s, and pool %s has %s by now; the old image is kept: replay the request in a pool that has it", r.ID, all[kept].Ref(), pool, has)
}

// Compare compares the result of a replay with that of the request that it runs again. Returns NOTFOUND, INVALID if the
// request is no replay, FORBIDDEN, CONFLICT unless both have results.
func (d *Service) Compare(ctx context.Context, a core.Actor, id string) (Comparison, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err != nil {
		return Comparison{}, err
	}
	if row.Spec.Replays == nil {
		return Comparison{}, core.Errorf(core.CodeInvalid, id, "request %s is no replay: there is nothing to compare it with", id)
	}
	if row.Spec.Grades() {
		if err := core.Allow(a, core.ActGradeView, core.Object{Class: row.Spec.ClassOf()}); err != nil {
			return Comparison{}, err
		}
	}
	was, err := d.row(ctx, a, row.Spec.Replays.ID, core.ActRequestView)
	if core.Is(err, core.CodeNotFound) {
		return Comparison{}, core.Errorf(core.CodeConflict, id, "request %s, which %s runs again, is not there any more", row.Spec.Replays.ID, id)
	}
	if err != nil {
		return Comparison{}, err
	}
	for _, one := range []*core.Row{&was, &row} {
		if one.Result == nil {
			return Comparison{}, core.Errorf(core.CodeConflict, id, "request %s has not ended: there is nothing to compare yet", one.Spec.ID)
		}
	}
	first, again := viewOf(was), viewOf(row)
	conceal(a, &was.Spec, &first)
	conceal(a, &row.Spec, &again)
	return compare(&first.Result, &again.Result, row.Spec.Harness == nil), nil
}
