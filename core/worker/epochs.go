package worker

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
)

// CloseTimeout bounds the calls to Redis that an owner makes once it must stop.
const CloseTimeout = 5 * time.Second

// steady is how long an epoch must last to end a row of failures.
const steady = time.Minute

// hopeless are the refusals of a registration that no repeat changes.
var hopeless = []core.Code{core.CodeBusy, core.CodeVersion, core.CodeInvalid, core.CodeForbidden}

// Epochs runs the epochs of an owner one after another, with growing pauses between those that fail. Live is one
// epoch, from the registration on: it returns nil once the owner was told to stop and has done so. Between two
// epochs, drain ends Epochs at once: the owner holds nothing that it could finish. Notice is called with the reason
// whenever a new epoch begins. Epochs returns nil for an owner that was told to stop. It returns BUSY, VERSION,
// INVALID and FORBIDDEN, which no repeat changes: for instance, another machine has the host's name.
func Epochs(ctx context.Context, drain <-chan struct{}, notice func(string, error), live func() error) error {
	wait := Retries()
	for ctx.Err() == nil {
		began := time.Now()
		err := live()
		switch {
		case err == nil || ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to stop: what else went wrong does not matter
		case slices.Contains(hopeless, core.CodeOf(err)):
			return err
		}
		notice("the epoch is over, or could not begin; starting a new one", err)
		if time.Since(began) > steady {
			wait.Reset()
		}
		// A pause after FENCED too: a second process under the same name would fence us again and again.
		select {
		case <-time.After(wait.NextBackOff()):
		case <-drain:
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

// Listen signals wake whenever wait returns without an error, until ctx ends. While Redis is away it calls wait less
// and less often.
func Listen(ctx context.Context, wake chan<- struct{}, wait func(context.Context) error) {
	pause := Retries()
	for ctx.Err() == nil {
		if wait(ctx) == nil {
			pause.Reset()
			signal(wake)
		} else if !sleep(ctx, pause.NextBackOff()) {
			return
		}
	}
}

// Retries returns the pauses between repeats of a call to Redis or the result store.
func Retries() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 5*time.Second
	return b
}
