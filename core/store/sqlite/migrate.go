package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"drover/core"
)

// exists returns NOTFOUND if a file is missing or empty.
func exists(ctx context.Context, path string) error {
	_, err := os.Stat(path)
	if err == nil {
		var its int
		its, err = schemaOf(ctx, path)
		if err == nil && its == 0 {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return core.Errorf(core.CodeNotFound, path, "result store %s does not exist, or is empty", path)
	}
	return fault(err, path)
}

// schemaOf returns the schema of a file, 0 for an empty one.
func schemaOf(ctx context.Context, path string) (its int, err error) {
	db, err := connect(ctx, path, url.Values{}, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, fault(db.Close(), path)) }()
	return version(ctx, db, path)
}

// boundSchema is the first schema that has bindings.
const boundSchema = 23

// Migrate brings a store to this program's schema, if the caller agrees, after it made a copy beside it. Returns the
// schema before, the present one and the path of the copy, "" if there was nothing to do; NOTFOUND for a store that does
// not exist, and errors as Open does.
func Migrate(ctx context.Context, path string, agreed func(its map[core.Binding]string) error) (from, to int, copied string, err error) {
	if path, err = checkPath(path); err != nil {
		return 0, 0, "", err
	}
	if err := exists(ctx, path); err != nil {
		return 0, 0, "", err
	}
	to = len(migrations)
	if from, err = schemaOf(ctx, path); err != nil || from == to {
		return from, to, "", err
	}
	db, err := connect(ctx, path, durable(), 1)
	if err != nil {
		return from, to, "", err
	}
	defer func() { err = errors.Join(err, fault(db.Close(), path)) }()
	its := map[core.Binding]string{}
	if from >= boundSchema {
		if its, err = readBindings(ctx, db); err != nil {
			return from, to, "", fault(err, path)
		}
	}
	if err := agreed(its); err != nil {
		return from, to, "", err
	}
	copied = fmt.Sprintf("%s.schema-%d-%s", path, from, time.Now().UTC().Format("20060102T150405"))
	if err := create(copied); err != nil { // SQLite fills an empty file and leaves its mode
		return from, to, "", err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", copied); err != nil {
		return from, to, "", errors.Join(fault(err, copied), os.Remove(copied))
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return from, to, copied, fault(err, path)
	}
	return from, to, copied, errors.Join(fill(ctx, conn, path, true), conn.Close())
}

func readBindings(ctx context.Context, db *sql.DB) (its map[core.Binding]string, err error) {
	rows, err := db.QueryContext(ctx, allBindings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	its = map[core.Binding]string{}
	for rows.Next() {
		if err := scanBinding(rows, its); err != nil {
			return nil, err
		}
	}
	return its, rows.Err()
}
