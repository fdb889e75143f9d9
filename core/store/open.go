// Package store opens the result store: the ledger of requests and results, the one place that says what was accepted
// and how it ended. Redis can be lost and is rebuilt from it.
//
// Its packages: bounds has what the stores share (keys, sizes, pages), sqlite keeps the store in one file, mongo in a
// database of MongoDB, and storetest is the suite that every store passes.
package store

import (
	"context"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/mongo"
	"drover/core/store/sqlite"
)

// Schemes lists the URLs that Open knows, as examples for people.
func Schemes() []string { return []string{"sqlite://PATH", "mongodb://USER@HOST/DATABASE"} }

// Open opens the store that a URL names: "sqlite://PATH", where PATH is absolute or relative to the working folder,
// or a "mongodb://" or "mongodb+srv://" URL in the format of MongoDB's drivers. It makes a new one where nothing is.
// Returns INVALID for another URL, VERSION for a store that a newer drover wrote, or that has to be migrated first,
// UNAVAILABLE if it cannot be used.
func Open(ctx context.Context, url string) (school.ResultStore, error) {
	return open(ctx, url, false)
}

// OpenExisting does so for a store that exists. Returns NOTFOUND if it does not.
func OpenExisting(ctx context.Context, url string) (school.ResultStore, error) {
	return open(ctx, url, true)
}

// Migration is what Migrate did.
type Migration struct {
	From int    `json:"from"` // the schema before
	To   int    `json:"to"`
	Copy string `json:"copy,omitempty"` // the path of a copy from before; "": none was made
}

// Migrate brings the store that a URL names to this program's schema, if the caller agrees, who is told to what it
// belongs. One in a file is copied before. Returns NOTFOUND for a store that does not exist, and errors as Open does.
func Migrate(ctx context.Context, url string, agreed func(its map[core.Binding]string) error) (did Migration, err error) {
	if path, is := strings.CutPrefix(url, "sqlite://"); is {
		did.From, did.To, did.Copy, err = sqlite.Migrate(ctx, path, agreed)
		return did, err
	}
	if !strings.HasPrefix(url, "mongodb://") && !strings.HasPrefix(url, "mongodb+srv://") {
		return did, unknown()
	}
	did.From, did.To, err = mongo.Migrate(ctx, url, mongo.Options{}, agreed)
	return did, err
}

func unknown() error {
	// The URL itself is not quoted: it may hold a password.
	return core.Errorf(core.CodeInvalid, "", "this result store URL is not known: write %s", strings.Join(Schemes(), " or "))
}

func open(ctx context.Context, url string, existing bool) (school.ResultStore, error) {
	scheme, path, ok := strings.Cut(url, "://")
	switch {
	case ok && scheme == "sqlite":
		s, err := sqlite.Open(ctx, path, sqlite.Options{Existing: existing})
		if err != nil {
			return nil, err // a nil *Store in the interface would not be nil
		}
		return s, nil
	case ok && (scheme == "mongodb" || scheme == "mongodb+srv"):
		s, err := mongo.Open(ctx, url, mongo.Options{Existing: existing})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, unknown()
}
