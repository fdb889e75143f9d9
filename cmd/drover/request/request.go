// Package request has the commands that run jobs: run, submit, harness, and request, which shows, follows, changes,
// cancels, deletes and reruns them.
package request

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
)

// Command is drover request.
func Command() *cli.Command {
	return &cli.Command{
		Name: "request", Usage: "list, change, cancel, delete and rerun requests", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list requests, newest first", "", "drover request list --state running", []cli.Flag{
				&cli.StringSliceFlag{Name: "state", Usage: "only requests in `STATE` (queued, parked, claimed, running, completed, failed, cancelled, timed_out, dead); repeatable"},
				&cli.StringFlag{Name: "submitter", Usage: "only those of `S`"},
				&cli.StringFlag{Name: "pool", Usage: "only those of pool `P`"},
				&cli.StringFlag{Name: "assignment", Usage: "only those for assignment `A`"},
				&cli.StringFlag{Name: "batch", Usage: "only those of batch `ID`"},
				&cli.StringFlag{Name: "before", Usage: "the page after the one that ended with request `ID`"},
				&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 50},
			}, listRequests),
			access.BackendCommand("show", "show one request, its state and its result", "ID", "drover request show 01j8x3k4", nil, showRequest),
			access.BackendCommand("replay", "run a finished request again as it was, which counts for nothing, and compare", "ID", "drover request replay --times 20 01j8x3k4", replayFlags(), replayRequest),
			access.BackendCommand("explain", "say in sentences how a request's result came about", "ID", "drover request explain 01j8x3k4", nil, explainRequest),
			access.ChangesCommand("list every change of state of a request, newest first, for operators", "ID", access.ChangesOfRequest),
			access.BackendCommand("output", "print a request's standard output, its standard error to standard error", "ID", "drover request output --follow 01j8x3k4", []cli.Flag{
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print live output until it ends", DisableDefaultText: true},
				rawFlag(),
			}, requestOutput),
			access.BackendCommand("files", "list the files that were collected of a request, or fetch them", "ID", "drover request files --to out 01j8x3k4", []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "write them to the new folder `PATH`"},
			}, requestFiles),
			access.BackendCommand("cancel", "cancel a request, waiting or running", "ID", "drover request cancel 01j8x3k4", nil, cancelRequest),
			access.BackendCommand("update", "change a request that waits; what is not given stays", "ID", "drover request update --priority low --timeout 5s 01j8x3k4", updateFlags(), updateRequest),
			access.BackendCommand("delete", "delete a request with its results and output; a running one is stopped first", "ID", "drover request delete 01j8x3k4", nil, deleteRequest),
			access.BackendCommand("rerun", "run an ended request again", "ID", "drover request rerun 01j8x3k4", nil, rerunRequest),
		},
	}
}

func listRequests(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	if limit := c.Int("limit"); limit < 1 || limit > 1000 {
		return core.Errorf(core.CodeInvalid, "", "--limit %d must be between 1 and 1000", limit)
	}
	f := requests.Filter{
		Submitter: c.String("submitter"), Pool: c.String("pool"), Assignment: c.String("assignment"), Batch: c.String("batch"),
		Before: c.String("before"), Limit: c.Int("limit"),
	}
	for _, state := range c.StringSlice("state") {
		f.States = append(f.States, core.RequestState(state))
	}
	views, err := d.ListRequests(c.Context, f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(views))
	}
	rows := make([]table.Row, len(views))
	for i, v := range views {
		rows[i] = table.Row{v.ID, v.State, v.Blame, score(v), v.Submitter, v.Pool, terminal.Since(v.Times.Submitted), terminal.FirstLine(v.Reason)}
	}
	return terminal.PrintTable(c.App.Writer, "no requests", table.Row{"id", "state", "blame", "score", "submitter", "pool", "submitted", "reason"}, rows)
}

func score(v requests.View) string {
	if v.Score == nil {
		return ""
	}
	return terminal.Points(v.Score) + " / " + terminal.Points(v.MaxScore)
}

func showRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	v, err := d.ViewRequest(c.Context, id)
	if err != nil {
		return err
	}
	history, err := d.Attempts(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, struct {
			requests.View
			Attempts []core.Attempt `json:"attempts"`
		}{v, terminal.OrEmpty(history)})
	}
	return printView(c.App.Writer, v, history)
}

func printView(w io.Writer, v requests.View, history []core.Attempt) error {
	rows := []table.Row{{"request", v.ID}, {"state", v.State}, {"submitter", v.Submitter}, {"pool", v.Pool}, {"priority", v.Priority}}
	add := func(name, value string) {
		if value != "" && value != "-" {
			rows = append(rows, table.Row{name, value})
		}
	}
	add("assignment", v.Assignment)
	if v.Place != nil {
		if v.Waiting != nil {
			add("waits", terminal.Clean(v.Waiting.Text))
		}
		add("ahead of it", ahead(v.Waiting))
		add("expected", mayWait(v.Waiting))
		add("held by", v.Place.Owner)
		add("faults so far", faults(v.Place.Attempts))
	}
	add("replay of", v.Replays)
	add("on host loss", v.OnHostLoss)
	add("blame", string(v.Blame))
	add("reason", terminal.Clean(v.Reason))
	if v.State.Terminal() {
		add("verdict", string(harness.VerdictOf(&v.Result)))
		if v.Blame != core.BlamePlatform { // else it says nothing of the command, which may not have run
			add("exit code", fmt.Sprint(v.ExitCode))
		}
	}
	add("signal", v.Signal)
	add("score", score(v))
	add("host, VM", strings.Trim(v.Host+", "+v.VM, ", "))
	add("image", v.Image)
	addReceipt(add, v.Receipt)
	add("submitted", terminal.Since(v.Times.Submitted))
	add("waited", terminal.Millis(v.Times.Claimed))
	add("staged", terminal.Millis(terminal.Span(v.Times.Claimed, v.Times.Started)))
	add("ran", terminal.Millis(terminal.Span(v.Times.Started, v.Times.Finished)))
	if v.Usage.WallMs > 0 {
		add("processor", terminal.Millis(v.Usage.CPUMs))
		add("memory", terminal.Size(v.Usage.MemoryPeakBytes))
	}
	if v.Expired > 0 {
		add("output and files", "deleted "+terminal.Since(v.Expired))
	}
	for _, limit := range slices.Sorted(maps.Keys(v.HeldBy)) {
		add("limit on "+strings.ReplaceAll(limit, "_", " "), "held by "+v.HeldBy[limit])
	}
	if err := terminal.PrintTable(w, "", table.Row{"", ""}, rows); err != nil {
		return err
	}
	return printAttempts(w, history)
}

// printAttempts prints the attempts of a request that has several.
func printAttempts(w io.Writer, history []core.Attempt) error {
	var tries []table.Row
	for _, a := range history {
		accepted := "refused: too late"
		if a.Accepted {
			accepted = "the result"
		}
		tries = append(tries, table.Row{a.Result.Generation, a.Result.Attempt, a.Result.State, a.Result.Host, terminal.Since(a.Recorded), accepted})
	}
	if len(tries) < 2 {
		return nil
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return terminal.PrintTable(w, "", table.Row{"generation", "attempt", "state", "host", "recorded", ""}, tries)
}

func cancelRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	state, err := d.CancelRequest(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"id": id, "state": state}, "request %s is %s", id, state)
}

func updateFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "pool", Usage: "run it in a VM of `POOL`; limits that were the former pool's become those of this one"},
		&cli.StringFlag{Name: "priority", Usage: "its priority: `PRIORITY` high, normal or low"},
	}, terminal.LimitFlags()...)
}

func updateRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	to := core.Change{Pool: c.String("pool"), Priority: core.Priority(c.String("priority"))}
	if err := terminal.ApplyLimitFlags(c, &to.Limits); err != nil {
		return err
	}
	if to == (core.Change{}) {
		return core.Errorf(core.CodeInvalid, id, "what is to change? Name --pool, --priority or a limit, such as --timeout")
	}
	v, err := d.ChangeRequest(c.Context, id, to)
	if err != nil {
		return err
	}
	return terminal.Say(c, v, "request %s waits in pool %s with priority %s", id, v.Pool, v.Priority)
}

func deleteRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	gone, err := d.DeleteRequest(c.Context, id)
	if err != nil {
		return err
	}
	if !gone {
		return terminal.Say(c, map[string]any{"id": id, "gone": false}, "request %s is being stopped, and is deleted then", id)
	}
	return terminal.Say(c, map[string]any{"id": id, "gone": true}, "request %s is deleted", id)
}

func rerunRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	v, err := d.RerunRequest(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"id": id, "generation": v.Generation, "state": v.State}, "request %s runs again as generation %d", id, v.Generation)
}

func requestOutput(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	v, err := d.ViewRequest(c.Context, id)
	if err != nil {
		return err
	}
	if err := requests.Expired(&v.Result); err != nil {
		return err
	}
	has := v.State.Terminal()
	if c.Bool("json") {
		if !has {
			return core.Errorf(core.CodeConflict, id, "request %s has not ended: leave --json away and add --follow to see its output as it comes", id)
		}
		return terminal.PrintJSON(c.App.Writer, map[string]any{"id": id, "stdout": v.Stdout, "stderr": v.Stderr, "truncated": v.Truncated})
	}
	f := NewFollower(d, id).tells(c)
	f.show(c)
	if !has {
		f.glance = !c.Bool("follow")
		return f.Follow(c.Context)
	}
	return errors.Join(f.print("stdout", []byte(v.Stdout)), f.print("stderr", []byte(v.Stderr)), f.flush())
}
