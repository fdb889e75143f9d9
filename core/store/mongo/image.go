package mongo

import (
	"context"

	"drover/core"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// PutImage makes an image the newest of its name.
func (s *Store) PutImage(ctx context.Context, image core.Image) error {
	if _, _, err := core.ParseImageRef(image.Ref()); err != nil {
		return err
	}
	doc, err := encode(image, image.Name)
	if err != nil {
		return err
	}
	if err := s.room(ctx, core.ImageQuota, image.Name, images, m{"_id": m{"$ne": image.Ref()}}); err != nil {
		return err
	}
	seq, err := s.next(ctx, "images")
	if err != nil {
		return err
	}
	return s.put(ctx, images, image.Ref(), m{"name": image.Name, "digest": image.Digest, "seq": seq, "json": doc})
}

// next increments a counter and returns it.
func (s *Store) next(ctx context.Context, what string) (int64, error) {
	var counter struct {
		N int64 `bson:"n"`
	}
	err := s.call(ctx, func(ctx context.Context) error {
		opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
		err := s.in(meta).FindOneAndUpdate(ctx, m{"_id": what}, m{"$inc": m{"n": 1}}, opts).Decode(&counter)
		if duplicate(err) { // another call created it at the same time: now it exists
			err = s.in(meta).FindOneAndUpdate(ctx, m{"_id": what}, m{"$inc": m{"n": 1}}, opts).Decode(&counter)
		}
		return err
	})
	return counter.N, err
}

// GetImage returns the image that ref names.
func (s *Store) GetImage(ctx context.Context, ref string) (core.Image, error) {
	which, err := imageFilter(ref)
	if err != nil {
		return core.Image{}, err
	}
	found, err := settings[core.Image](ctx, s, images, which, "name", "-seq")
	if err != nil {
		return core.Image{}, err
	}
	if len(found) == 0 {
		return core.Image{}, core.NoImage(ref)
	}
	return found[0], nil
}

// ListImages lists all images by name, each name's newest first.
func (s *Store) ListImages(ctx context.Context) ([]core.Image, error) {
	return settings[core.Image](ctx, s, images, m{}, "name", "-seq")
}

// DeleteImage removes the images that ref names.
func (s *Store) DeleteImage(ctx context.Context, ref string) error {
	which, err := imageFilter(ref)
	if err != nil {
		return err
	}
	n, err := s.remove(ctx, images, which)
	if err == nil && n == 0 {
		err = core.NoImage(ref)
	}
	return err
}

func imageFilter(ref string) (m, error) {
	name, digest, err := core.ParseImageRef(ref)
	if digest == "" {
		return m{"name": name}, err
	}
	return m{"_id": ref}, err
}

func (s *Store) imageDigests(ctx context.Context, fn func(digest string) error) error {
	all, err := s.ListImages(ctx)
	for _, image := range all {
		if err := fn(image.Digest); err != nil {
			return err
		}
	}
	return err
}
