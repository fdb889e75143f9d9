package access

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"drover/core"
	"drover/core/blobs"
	"drover/core/config"
	"drover/core/redisstore"
)

// Part is one of the services that a cluster consists of, and why it cannot be used; nil if it can.
type Part struct {
	Name string
	Err  error
}

// TryParts tries each service of the cluster in the settings by itself, for when they cannot be used together. It makes
// no store where there is none.
func TryParts(ctx context.Context, cfg *config.Config) []Part {
	return []Part{
		{"redis", tryRedis(ctx, cfg)}, {"store", tryStore(ctx, cfg)}, {"blobs", tryBlobs(ctx, cfg)},
	}
}

func tryRedis(ctx context.Context, cfg *config.Config) error {
	r, err := redisstore.Open(ctx, redisOptions(cfg))
	if err != nil {
		return withoutRedis(err, cfg)
	}
	return errors.Join(r.CheckWrites(ctx), r.Close())
}

func tryStore(ctx context.Context, cfg *config.Config) error {
	if err := isThere(cfg, "store", "sqlite://", cfg.Store); err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, true)
	if err != nil {
		return err
	}
	return errors.Join(s.Ping(ctx), s.Close())
}

func tryBlobs(ctx context.Context, cfg *config.Config) error {
	if err := isThere(cfg, "blobs", "file://", cfg.Blobs); err != nil {
		return err
	}
	b, err := blobs.Open(ctx, cfg.Blobs.Reveal())
	if err != nil {
		return err
	}
	_, err = b.ID(ctx)
	return errors.Join(cmp.Or(err, b.Ping(ctx)), b.Close())
}

// isThere returns NOTFOUND for a store on this machine, named by a setting, that does not exist: opening it would make
// it.
func isThere(cfg *config.Config, setting, scheme string, at config.URL) error {
	path, local := strings.CutPrefix(at.Reveal(), scheme)
	if !local {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return core.Errorf(core.CodeNotFound, path, "%s is not there (setting %s, %s).\nName the cluster's own with --%s URL, or put it back from a backup", path, setting, cfg.Source(setting), setting)
	}
	return nil
}

// withoutRedis adds to an error of connecting what an operator can do. There is no cluster if its Redis would be that
// of drover up in a data folder that has no store; a cluster that is away is started again, or its Redis is.
func withoutRedis(err error, cfg *config.Config) error {
	at, from := cfg.Redis, cfg.Source("redis")
	switch {
	case !core.Is(err, core.CodeUnavailable):
		return err
	case !redisstore.IsSilent(err):
		return core.Errorf(core.CodeUnavailable, "", "the cluster's Redis at %s (%s) cannot be used: %v", at, from, err)
	case from != config.Default:
		return core.Errorf(core.CodeUnavailable, "", "the cluster's Redis at %s (%s) does not answer: %v.\n%s", at, from, causeOf(err), whenAway)
	case isThere(cfg, "store", "sqlite://", cfg.Store) == nil:
		return core.Errorf(core.CodeUnavailable, "", "the cluster in %s does not run: %v.\nStart it again with: drover up --data %s\nor %s", cfg.Data, causeOf(err), cfg.Data, toName)
	}
	return core.Errorf(core.CodeUnavailable, "", "there is no cluster at %s (%s): %v.\nStart one with: drover up\nor %s;\n%s", at, from, causeOf(err), toName, alone)
}

const (
	toName   = "name a running one with --data DIR, or --redis URL, --store URL and --blobs URL, or DROVER_DATA, or DROVER_REDIS, DROVER_STORE and DROVER_BLOBS"
	alone    = "to run a single command without a cluster: drover run --embedded -- CMD"
	whenAway = "Start it, or mend the way to it: what was accepted is safe, and goes on then. If another cluster is meant, " + toName
)

// causeOf returns what lies behind the first error of core in a chain.
func causeOf(err error) error {
	var fault *core.Error
	if errors.As(err, &fault) && fault.Err != nil {
		return fault.Err
	}
	return err
}
