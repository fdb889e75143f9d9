package mongo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"drover/core"
	"drover/core/store/bounds"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// outbox is the part of a request's or task's document with the ends of which somebody is still to be notified. An
// end is added by the same change that records it.
type outbox struct {
	Untold []int  `bson:"outbox,omitempty"`    // generations
	Since  string `bson:"outbox_at,omitempty"` // orders documents by their first end
}

// tell adds an end to the outbox by a change.
func tell(how m, generation int, now int64) {
	push, _ := how["$push"].(m)
	if push == nil {
		push = m{}
	}
	push["outbox"] = generation
	how["$push"], how["$min"] = push, m{"outbox_at": since(now)}
}

// since orders documents of the same moment, too.
func since(now int64) string { return fmt.Sprintf("%016d %s", now, bson.NewObjectID().Hex()) }

// boxes are the collections whose documents have such an outbox; leases and comments have one of texts.
var boxes = map[string]string{core.EventRequestEnded: requests, core.EventTaskEnded: tasks}

// told is a document with an outbox.
type told struct {
	ID    string            `bson:"_id"`
	State core.RequestState `bson:"state"`
	Box   outbox            `bson:",inline"`
}

// dated is a notice with what orders it among others.
type dated struct {
	at     string
	notice core.Notice
}

// Outbox lists notices that were not marked as sent, see core.Webhooks.
func (s *Store) Outbox(ctx context.Context, limit int) ([]core.Notice, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	if _, err := s.calendarRevision(ctx); err != nil {
		return nil, err
	}
	all, err := s.textNotices(ctx, leases, limit)
	if err != nil {
		return nil, err
	}
	said, err := s.textNotices(ctx, comments, limit)
	if err != nil {
		return nil, err
	}
	all = append(all, said...)
	for event, in := range boxes {
		docs, err := some[told](ctx, s, in, m{"outbox_at": m{"$gt": ""}}, by("outbox_at"), limit, "state", "outbox", "outbox_at")
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if doc.State == gone {
				continue
			}
			for _, generation := range doc.Box.Untold {
				all = append(all, dated{doc.Box.Since, core.Notice{Event: event, Key: core.Key(doc.ID, generation)}})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return cmp.Compare(a.at, b.at) })
	var notices []core.Notice
	for _, one := range all[:min(limit, len(all))] {
		notices = append(notices, one.notice)
	}
	return notices, nil
}

// Sent takes notices out of the outbox, see core.Webhooks.
func (s *Store) Sent(ctx context.Context, notices []core.Notice) error {
	ends, err := bounds.Notices(notices)
	if err != nil {
		return err
	}
	type key struct {
		in     string
		untold any // what the outbox there has
	}
	ids := map[key][]string{}
	for _, e := range ends {
		k := key{leases, untoldNote(e.Event, e.Generation)}
		if in, is := boxes[e.Event]; is {
			k = key{in, e.Generation}
		} else if slices.Contains(core.CommentEvents(), e.Event) {
			k.in = comments
		}
		ids[k] = append(ids[k], e.ID)
	}
	for k, ids := range ids {
		which := m{"_id": m{"$in": ids}}
		if err := s.changeAll(ctx, k.in, which, m{"$pull": m{"outbox": k.untold}}); err != nil {
			return err
		}
		if err := s.close(ctx, k.in, which); err != nil {
			return err
		}
	}
	return nil
}

// close removes the times of empty outboxes.
func (s *Store) close(ctx context.Context, in string, which m) error {
	empty := m{"outbox.0": m{"$exists": false}, "outbox_at": m{"$gt": ""}}
	for name, value := range which {
		empty[name] = value
	}
	return s.changeAll(ctx, in, empty, m{"$unset": m{"outbox_at": "", "outbox": ""}})
}
