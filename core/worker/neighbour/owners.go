package neighbour

import (
	"context"

	"drover/core"
)

// Notice is called with what operators should know of an owner, and the error behind it if there is one.
type Notice func(owner, text string, err error)

// Owners leaves a note in Dir for every owner that registers through it, and removes the note when the owner
// deregisters. An owner works without a note as well; only its death is detected later.
type Owners struct {
	core.Owners
	Dir    string
	Notice Notice
}

// Register implements core.Owners.
func (o Owners) Register(ctx context.Context, r core.Registration) (core.Registered, error) {
	registered, err := o.Owners.Register(ctx, r)
	if err != nil {
		return registered, err
	}
	note, err := mine(r.Owner, registered.Epoch)
	if err == nil {
		err = note.write(o.Dir)
	}
	if err != nil {
		o.Notice(r.Owner, "neighbours cannot watch this process: its death will be noticed by its missing heartbeats", err)
	}
	return registered, nil
}

// Deregister implements core.Owners.
func (o Owners) Deregister(ctx context.Context, owner string, epoch int64) error {
	err := o.Owners.Deregister(ctx, owner, epoch)
	if err == nil {
		Note{Owner: owner, Epoch: epoch}.remove(o.Dir)
	}
	return err
}
