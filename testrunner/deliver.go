package testrunner

import (
	"context"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// Deliver records the results that testrunners of this host left in the spool folder dir. It must be called before a
// dead testrunner's slots are settled, because the store decides their outcome. Several processes may deliver at
// once. Returns UNAVAILABLE while the store is down.
func Deliver(ctx context.Context, dir string, store core.Ledger, log logrus.FieldLogger) error {
	c := Config{}.filled()
	s, err := openSpool(dir, c.SpoolFiles, c.SpoolBytes)
	if err != nil {
		return err
	}
	return s.deliver(ctx, store, log)
}

// deliver records every result in the spool. Returns UNAVAILABLE while the store is down.
func (s *spool) deliver(ctx context.Context, store core.Ledger, log logrus.FieldLogger) error {
	return s.each(ctx, func(res core.Result) error {
		first, err := store.Record(ctx, res)
		log := log.WithField("request", res.Key()).WithField("token", res.Token)
		switch core.CodeOf(err) {
		case "":
			log.WithField("accepted", first).Info("delivered a spooled result")
		case core.CodeNotFound:
			log.WithError(err).Error("the store does not know the request any more; its spooled result is dropped")
		case core.CodeInvalid, core.CodeLimit:
			log.WithError(err).Error("the store refuses a spooled result; it is quarantined")
			return err
		default:
			return err
		}
		s.drop(res, log)
		return nil
	})
}

// drop removes a delivered result from the spool.
func (s *spool) drop(res core.Result, log logrus.FieldLogger) {
	if err := s.remove(&res); err != nil {
		log.WithError(err).Warn("a delivered result stays in the spool; it is delivered once more")
	}
}
