// Package doctor checks a cluster and this machine, and reports what is wrong, which limits are enforced by what, and
// how to mend it.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/config"
)

// How bad a finding is.
const (
	FindingOK   = "ok"
	FindingWarn = "warn"
	FindingFail = "fail"
)

// finding is the result of one check.
type finding struct {
	About string `json:"about"`
	Level string `json:"level"`
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"`
}

// Findings collects the results of checks.
type Findings []finding

func (f *Findings) ok(about, format string, args ...any) {
	*f = append(*f, finding{About: about, Level: FindingOK, Text: fmt.Sprintf(format, args...)})
}

func (f *Findings) warn(about, mend, format string, args ...any) {
	*f = append(*f, finding{About: about, Level: FindingWarn, Text: fmt.Sprintf(format, args...), Mend: mend})
}

func (f *Findings) fail(about, mend, format string, args ...any) {
	*f = append(*f, finding{About: about, Level: FindingFail, Text: fmt.Sprintf(format, args...), Mend: mend})
}

// Command is drover doctor.
func Command() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check this machine and the cluster, and say how to mend what is wrong", OnUsageError: terminal.UsageError,
		Description: "Exits with 0 if nothing failed; warnings do not count.",
		Flags: terminal.WithSettings([]cli.Flag{
			terminal.JSONFlag(),
		}, "vmfactory"),
		Action: func(c *cli.Context) error {
			if err := terminal.NoArgs(c); err != nil {
				return err
			}
			cfg, err := terminal.Load(c)
			if err != nil {
				return err
			}
			found, err := examine(c.Context, cfg)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = terminal.PrintJSON(c.App.Writer, found)
			} else {
				err = found.print(c.App.Writer)
			}
			if err == nil && found.failed() {
				err = terminal.ExitCode(terminal.ExitFault)
			}
			return err
		},
	}
}

func examine(ctx context.Context, cfg *config.Config) (Findings, error) {
	var f Findings
	if cfg.File() != "" {
		f.ok("settings", "read from %s, the environment and flags", cfg.File())
	} else {
		f.ok("settings", "from the environment, flags and defaults; there is no file")
	}
	f.files(cfg)
	f.site(ctx, cfg, time.Now())
	if err := f.machine(ctx, cfg); err != nil {
		return nil, err
	}
	h, err := access.OpenCluster(ctx, cfg)
	if err != nil {
		f.apart(ctx, cfg, err)
		return f, nil
	}
	return f, errors.Join(f.cluster(ctx, h), h.Close())
}

// apart reports which parts of a cluster keep it from being used as a whole, which err says. Where there is no cluster at
// all, that its stores are missing is not said.
func (f *Findings) apart(ctx context.Context, cfg *config.Config, err error) {
	before := len(*f)
	for _, part := range access.TryParts(ctx, cfg) {
		noCluster := core.Is(part.Err, core.CodeNotFound) && len(*f) > before && cfg.Source("redis") == config.Default
		if part.Err != nil && !noCluster {
			f.broken(part.Name, part.Err)
		}
	}
	if len(*f) == before {
		f.broken("cluster", err)
	}
}

// broken reports a fault. The lines after its first are what helps.
func (f *Findings) broken(about string, err error) {
	what, mend, _ := strings.Cut(err.Error(), "\n")
	f.fail(about, strings.ReplaceAll(mend, "\n", " "), "%s", what)
}

func (f *Findings) cluster(ctx context.Context, h *access.Cluster) error {
	writes := h.Redis.CheckWrites(ctx)
	if writes != nil {
		f.broken("redis", writes)
	}
	if err := f.redis(ctx, h, writes == nil); err != nil {
		return err
	}
	f.ping(ctx, "store", h.Config.Store.String(), h.Store.Ping)
	f.ping(ctx, "blobs", h.Config.Blobs.String(), func(ctx context.Context) error {
		_, err := h.Blobs.ID(ctx)
		return cmp.Or(err, h.Blobs.Ping(ctx))
	})
	looks := []func(context.Context, *access.Cluster) error{f.ledger, f.missingFiles, f.owners, f.warnings, f.hosts, f.pools}
	if core.Is(writes, core.CodeUnavailable) {
		// No heartbeat arrives, so everything looks as if it were down.
		looks = []func(context.Context, *access.Cluster) error{f.ledger, f.missingFiles, f.pools}
	}
	for _, look := range looks {
		if err := look(ctx, h); err != nil {
			return err
		}
	}
	return f.consistency(ctx, h)
}

func (f *Findings) ping(ctx context.Context, about, url string, ping func(context.Context) error) {
	if err := ping(ctx); err != nil {
		f.fail(about, "", "%v", err)
		return
	}
	f.ok(about, "%s can be written; every host and client must name the same", url)
}

// redis checks the server's version, durability and clock.
func (f *Findings) redis(ctx context.Context, h *access.Cluster, writes bool) error {
	facts, err := h.Redis.Server(ctx)
	if err != nil {
		return err
	}
	if facts["redis_mode"] == wiring.EmbeddedMode {
		f.warn("redis", "for more than one host or user, run a redis-server and start the cluster with --redis URL",
			"the embedded one at %s: it keeps nothing, waiting work is queued again from the store at the next start", h.Config.Redis)
		return nil
	}
	if major, _, _ := strings.Cut(facts["redis_version"], "."); len(major) < 2 && major < "7" {
		f.fail("redis", "upgrade to 7.0 or later", "version %s is older than 7.0", facts["redis_version"])
	} else {
		f.ok("redis", "version %s at %s, namespace %s", facts["redis_version"], h.Config.Redis, h.Config.Namespace)
	}
	if err := f.around(ctx, h, facts); err != nil {
		return err
	}
	if !writes {
		delete(facts, aofStatus) // which may be why it takes no writes
	}
	f.RedisKeeps(facts)
	skew, err := h.Redis.Skew(ctx)
	if err != nil {
		return err
	}
	f.Clock(skew)
	return nil
}

// aofStatus is the field of INFO that says whether the last write of the AOF succeeded.
const aofStatus = "aof_last_write_status"

// RedisKeeps checks that Redis keeps what it acknowledged.
func (f *Findings) RedisKeeps(facts map[string]string) {
	if facts["aof_enabled"] == "0" {
		f.warn("redis durability", "redis-cli CONFIG SET appendonly yes, and appendonly yes in redis.conf", "AOF is off: a restart forgets what waits until the sweep has put it back")
	}
	if facts[aofStatus] == "err" {
		f.fail("redis durability", "see Redis' log; free its disk", "the last write of the AOF failed")
	}
	if policy := facts["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		f.fail("redis eviction", "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf",
			"the policy %s throws keys away when memory is short: work would be lost until the sweep", policy)
	}
}

// Clock checks how far this machine's clock is ahead of Redis'.
func (f *Findings) Clock(skew time.Duration) {
	if skew.Abs() > time.Second {
		f.warn("clock", "keep both clocks right with NTP", "this machine's clock and Redis' differ by %s; times in results are off by that", skew.Round(time.Millisecond))
	}
}

func (f Findings) failed() bool {
	for _, one := range f {
		if one.Level == FindingFail {
			return true
		}
	}
	return false
}

func (f Findings) print(w io.Writer) error {
	tty := terminal.OnTerminal(w)
	colours := map[string]text.Color{FindingOK: text.FgGreen, FindingWarn: text.FgYellow, FindingFail: text.FgRed}
	var rows []table.Row
	for _, one := range f {
		rows = append(rows, table.Row{terminal.Paint(tty, colours[one.Level], one.Level), one.About, terminal.Clean(one.Text)})
		if one.Mend != "" {
			rows = append(rows, table.Row{"", "", "→ " + terminal.Clean(one.Mend)})
		}
	}
	return terminal.PrintTable(w, "", table.Row{"", "about", "finding"}, rows)
}
