package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"drover/core"
)

// PutImage makes an image the newest of its name.
func (s *Store) PutImage(ctx context.Context, image core.Image) error {
	if _, _, err := core.ParseImageRef(image.Ref()); err != nil {
		return err
	}
	doc, err := json.Marshal(image)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, image.Name, "image %s cannot be written as JSON", image.Name)
	}
	_, err = commit(ctx, s.committer, image.Name, len(doc), func(t *tx) (int, error) {
		if err := t.room(core.ImageQuota, image.Name, "SELECT count(*) FROM images WHERE name <> ? OR digest <> ?", image.Name, image.Digest); err != nil {
			return 0, err
		}
		if _, err := t.exec("DELETE FROM images WHERE name = ? AND digest = ?", image.Name, image.Digest); err != nil {
			return 0, err
		}
		return t.exec("INSERT INTO images (name, digest, image) VALUES (?, ?, ?)", image.Name, image.Digest, doc)
	})
	return err
}

// GetImage returns the image that ref names.
func (s *Store) GetImage(ctx context.Context, ref string) (core.Image, error) {
	name, digest, err := core.ParseImageRef(ref)
	if err != nil {
		return core.Image{}, err
	}
	query, args := "SELECT name, image FROM images WHERE name = ? ORDER BY seq DESC LIMIT 1", []any{name}
	if digest != "" {
		query, args = "SELECT name, image FROM images WHERE name = ? AND digest = ?", []any{name, digest}
	}
	found, err := s.imageRows(ctx, query, args...)
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
	return s.imageRows(ctx, "SELECT name, image FROM images ORDER BY name, seq DESC")
}

// DeleteImage removes the images that ref names.
func (s *Store) DeleteImage(ctx context.Context, ref string) error {
	name, digest, err := core.ParseImageRef(ref)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM images WHERE name = ?1 AND (?2 = '' OR digest = ?2)", name, digest)
		if err == nil && n == 0 {
			err = core.NoImage(ref)
		}
		return n, err
	})
	return err
}

func (s *Store) imageRows(ctx context.Context, query string, args ...any) ([]core.Image, error) {
	var all []core.Image
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var name string
		var doc sql.RawBytes
		if err := rows.Scan(&name, &doc); err != nil {
			return err
		}
		var image core.Image
		err := decode(doc, &image, name)
		all = append(all, image)
		return err
	})
	return all, err
}
