package neighbour

import (
	"context"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// Owners leaves a note in Dir for every owner that registers through it, and
// removes it with the owner. Without a note an owner works as well; only its death
// is noticed later.
type Owners struct {
	core.Owners
	Dir string
	Log logrus.FieldLogger
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
		o.Log.WithError(err).WithField("owner", r.Owner).Warn("neighbours cannot watch this process: its death will be noticed by its missing proofs of life")
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
