package taskrunner

import (
	"drover/core/clock"
)

// builtIn returns the kinds that every taskrunner does.
func builtIn(cfg Config, parts Parts, c clock.Clock) []Kind {
	purge := Purge{Store: parts.Store, Blobs: parts.Blobs, Keep: cfg.KeepFinished, Grace: cfg.BlobGrace, Clock: c, Skew: parts.Skew}
	made := downloads{blobs: parts.Blobs, clock: c, keep: cfg.KeepDownloads}
	archive := Archive{Store: parts.Store, downloads: made}
	scores := Scores{Store: parts.Store, downloads: made}
	deletion := Deletion{Store: parts.Store, Work: parts.Work, Clock: c}
	experiments := Experiments{Store: parts.Store, Work: parts.Work, Tasks: parts.Intake}
	send := newSender(cfg, c)
	told := &deliveries{store: parts.Store, sender: send}
	called := &callbacks{store: parts.Store, forms: parts.Callbacks, sender: send}
	return []Kind{
		purge.Kind(), archive.Kind(), scores.AssignmentCSV(), scores.Gradebook(), deletion.Class(), deletion.Assignment(), told.kind(), called.kind(),
		experiments.Whole(), experiments.Part(),
	}
}
