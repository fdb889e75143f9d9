package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// WebhookCommand is drover webhook.
func WebhookCommand() *cli.Command {
	class := &cli.StringFlag{Name: "class", Usage: "of `CLASS`; without it, those of the cluster, which --notify names"}
	change := []cli.Flag{
		&cli.StringFlag{Name: "url", Usage: "where deliveries go: `URL` such as https://grades.example.org/drover"},
		&cli.StringSliceFlag{Name: "event", Usage: "which events are delivered: `EVENT` " + core.EventRequestEnded + ", " + core.EventTaskEnded + ", one of comments, such as " + core.EventQuestionAsked + ", or one of leases, such as " + core.EventLeaseStarted + "; repeatable"},
	}
	return &cli.Command{
		Name: "webhook", Usage: "list, create and change webhooks: addresses that are notified when work ends", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.UserCommand("list", "list webhooks", "", "drover webhook list --class cs101", []cli.Flag{class}, listWebhooks),
			access.UserCommand("add", "make a webhook and print its secret, which is never shown again", "URL", "drover webhook add --class cs101 https://grades.example.org/drover", []cli.Flag{class, change[1]}, addWebhook),
			access.UserCommand("set", "change the named settings of a webhook", "ID", "drover webhook set --disabled 01j8x3k4", slices.Concat(change, []cli.Flag{
				&cli.BoolFlag{Name: "disabled", Usage: "stop deliveries to it (--disabled=false resumes them)"},
				&cli.BoolFlag{Name: "new-secret", Usage: "print a new secret; deliveries are signed by the former one too until the next", DisableDefaultText: true},
				&cli.BoolFlag{Name: "forget-secret", Usage: "print a new secret and do not use the former one any more", DisableDefaultText: true},
			}), setWebhook),
			access.UserCommand("remove", "remove a webhook; what waits for it is not delivered", "ID", "drover webhook remove 01j8x3k4", nil, removeWebhook),
			access.UserCommand("test", "deliver a test, once", "ID", "drover webhook test 01j8x3k4", nil, testWebhook),
			access.UserCommand("deliveries", "list deliveries, sent and pending, newest first", "ID", "drover webhook deliveries --limit 10 01j8x3k4", []cli.Flag{
				&cli.StringFlag{Name: "before", Usage: "the page after the one that ended with delivery `ID`"},
				&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 50},
			}, listDeliveries),
			access.UserCommand("redeliver", "repeat a delivery", "DELIVERY", "drover webhook redeliver 01j8x5t2", nil, redeliver),
		},
	}
}

func listWebhooks(c *cli.Context, s *access.Session) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	all, err := s.Reg.ListWebhooks(c.Context, s.Actor, c.String("class"), "", terminal.MostRows)
	if err != nil {
		return err
	}
	return terminal.Page[core.Webhook]{
		Empty: "no webhooks: make one with drover webhook add URL", Header: table.Row{"id", "url", "events", "", "made", "by"},
		Row: func(w *core.Webhook) table.Row {
			return table.Row{w.ID, w.URL, strings.Join(w.Events, ", "), terminal.DisabledWord(w.Disabled), terminal.Since(w.Created), w.By}
		},
	}.Print(c, all)
}

// withSecret is a webhook in the one answer that has its secret.
type withSecret struct {
	core.Webhook
	Secret string `json:"secret"`
}

func addWebhook(c *cli.Context, s *access.Session) error {
	address, err := terminal.OneArg(c, "URL")
	if err != nil {
		return err
	}
	events := c.StringSlice("event")
	if len(events) == 0 {
		events = []string{core.EventRequestEnded}
	}
	w, err := s.Reg.AddWebhook(c.Context, s.Actor, core.Webhook{Class: c.String("class"), URL: address, Events: events})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, withSecret{w, w.Secret})
	}
	_, err = fmt.Fprintf(c.App.Writer, "webhook %s\nsecret  %s\n", w.ID, w.Secret)
	fmt.Fprintln(c.App.ErrWriter, "drover: keep the secret, it is not shown again; drover webhook test "+w.ID+" tries it")
	return err
}

func setWebhook(c *cli.Context, s *access.Session) error {
	id, err := terminal.OneArg(c, "webhook's id")
	if err != nil {
		return err
	}
	w, err := s.Reg.ViewWebhook(c.Context, s.Actor, id)
	if err != nil {
		return err
	}
	if c.IsSet("url") {
		w.URL = c.String("url")
	}
	if c.IsSet("event") {
		w.Events = c.StringSlice("event")
	}
	if c.IsSet("disabled") {
		w.Disabled = c.Bool("disabled")
	}
	if w, err = s.Reg.EditWebhook(c.Context, s.Actor, w); err != nil {
		return err
	}
	out := withSecret{Webhook: w}
	if c.Bool("new-secret") || c.Bool("forget-secret") {
		if out.Secret, err = s.Reg.RotateWebhook(c.Context, s.Actor, id, c.Bool("forget-secret")); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("json") && out.Secret == "":
		return terminal.PrintJSON(c.App.Writer, w)
	case c.Bool("json"):
		return terminal.PrintJSON(c.App.Writer, out)
	case out.Secret != "":
		_, err = fmt.Fprintf(c.App.Writer, "webhook %s is set\nsecret  %s\n", id, out.Secret)
	default:
		_, err = fmt.Fprintf(c.App.Writer, "webhook %s is set\n", id)
	}
	return err
}

func removeWebhook(c *cli.Context, s *access.Session) error {
	id, err := terminal.OneArg(c, "webhook's id")
	if err != nil {
		return err
	}
	if err := s.Reg.RemoveWebhook(c.Context, s.Actor, id); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]string{"id": id})
	}
	_, err = fmt.Fprintf(c.App.Writer, "webhook %s is removed\n", id)
	return err
}

func testWebhook(c *cli.Context, s *access.Session) error {
	id, err := terminal.OneArg(c, "webhook's id")
	if err != nil {
		return err
	}
	t, err := s.Reg.TestWebhook(c.Context, s.Actor, id)
	return sayDelivery(c, t, err, "drover webhook deliveries "+id+" says how it went")
}

func redeliver(c *cli.Context, s *access.Session) error {
	id, err := terminal.OneArg(c, "delivery's id")
	if err != nil {
		return err
	}
	t, err := s.Reg.Redeliver(c.Context, s.Actor, id)
	return sayDelivery(c, t, err, "drover webhook deliveries "+t.Lane+" says how it went")
}

func sayDelivery(c *cli.Context, t core.Task, err error, hint string) error {
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, t)
	}
	_, err = fmt.Fprintf(c.App.Writer, "delivery %s is on its way; %s\n", t.ID, hint)
	return err
}

func listDeliveries(c *cli.Context, s *access.Session) error {
	id, err := terminal.OneArg(c, "webhook's id")
	if err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	all, err := s.Reg.Deliveries(c.Context, s.Actor, id, c.String("before"), limit)
	if err != nil {
		return err
	}
	return terminal.Page[core.Task]{
		Empty: "no deliveries", Header: table.Row{"delivery", "state", "event", "of", "made", "note"}, Row: deliveryRow,
		Cursor: "before", Last: func(t *core.Task) string { return t.ID },
	}.Print(c, all)
}

func deliveryRow(t *core.Task) table.Row {
	var args core.WebhookArgs
	_ = json.Unmarshal(t.Args, &args) // unreadable arguments are shown as empty
	note := t.Note
	if n := len(t.Failures); note == "" && n > 0 {
		note = fmt.Sprintf("%d failed, the last %s: %s", t.Failures[n-1].Attempt, terminal.Since(t.Failures[n-1].At), t.Failures[n-1].Text)
	}
	return table.Row{t.ID, t.State, args.Event, args.Key, terminal.Since(t.Created), terminal.FirstLine(note)}
}
