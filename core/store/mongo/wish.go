package mongo

import (
	"context"

	"drover/core"
)

// wish is the document of a wish for a host.
type wish struct {
	ID   string `bson:"_id"` // host and kind
	Host string `bson:"host"`
	Kind string `bson:"kind"`
	At   int64  `bson:"at"`
	JSON string `bson:"json"`
}

// PutHostWish stores a wish for a host, see core.HostWishes.
func (s *Store) PutHostWish(ctx context.Context, w core.HostWish) (bool, error) {
	if err := core.CheckNames("host", w.Host, "kind of wish", string(w.Kind)); err != nil {
		return false, err
	}
	text, err := encode(w, w.Host)
	if err != nil {
		return false, err
	}
	doc := wish{w.Host + "/" + string(w.Kind), w.Host, string(w.Kind), w.At, text}
	// Either the update or the insert decides; if another call inserts at the same moment, the second round updates
	// its document.
	for range 2 {
		is, err := s.change(ctx, wishes, m{"_id": doc.ID, "at": m{"$lte": doc.At}}, m{"$set": m{"at": doc.At, "json": doc.JSON}})
		if err != nil || is {
			return is, err
		}
		if err := s.room(ctx, core.WishQuota, w.Host, wishes, m{"_id": m{"$ne": doc.ID}}); err != nil {
			return false, err
		}
		if is, err := s.insert(ctx, wishes, doc); err != nil || is {
			return is, err
		}
	}
	return false, nil
}

// HostWishes lists the wishes for a host or for all, see core.HostWishes.
func (s *Store) HostWishes(ctx context.Context, host string) ([]core.HostWish, error) {
	which := m{}
	if host != "" {
		which["host"] = host
	}
	return settings[core.HostWish](ctx, s, wishes, which, "host", "kind")
}

// ForgetHostWishes removes the wishes for a host, see core.HostWishes.
func (s *Store) ForgetHostWishes(ctx context.Context, host string) (int, error) {
	return s.remove(ctx, wishes, m{"host": host})
}
