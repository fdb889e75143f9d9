package taskrunner

import (
	"drover/core/service/clock"
)

// builtIn returns the kinds of every taskrunner.
func builtIn(cfg Config, deps Deps, c clock.Clock) []Kind {
	purge := Purge{Store: deps.Store, Blobs: deps.Blobs, Keep: cfg.KeepFinished, Grace: cfg.BlobGrace, Clock: c, Skew: deps.Skew}
	made := downloads{blobs: deps.Blobs, clock: c, keep: cfg.KeepDownloads}
	archive := Archive{Store: deps.Store, downloads: made}
	scores := Scores{Store: deps.Store, downloads: made}
	deletion := Deletion{Store: deps.Store, Work: deps.Work, Clock: c}
	experiments := Experiments{Store: deps.Store, Work: deps.Work, Tasks: deps.Intake}
	send := newSender(cfg, c)
	told := &deliveries{store: deps.Store, sender: send}
	called := &callbacks{store: deps.Store, forms: deps.Callbacks, sender: send}
	letters := &mails{accounts: deps.Accounts, classes: deps.Store, server: cfg.Mail}
	return []Kind{
		purge.Kind(), archive.Kind(), scores.AssignmentCSV(), scores.Gradebook(), deletion.Class(), deletion.Assignment(), told.kind(), called.kind(),
		experiments.Whole(), experiments.Part(), letters.resets(), letters.invitations(),
	}
}
