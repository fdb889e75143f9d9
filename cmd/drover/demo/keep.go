package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/service"
)

// keepDemo fills a site and keeps it up until a signal. The folder dir is removed at its end.
func keepDemo(c *cli.Context, dir string) error {
	all, pools, err := loadDemo(c, dir)
	if err != nil {
		return err
	}
	return wiring.InEmbeddedCluster(c, dir, append(pools, core.DefaultPool("default")), func(c *cli.Context, h *access.Cluster) error {
		return keepSite(c, h, all)
	})
}

func keepSite(c *cli.Context, h *access.Cluster, all []*Assignment) error {
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	log.SetLevel(logrus.WarnLevel)
	f, err := wiring.NewWebsite(h, log)
	if err != nil {
		return err
	}
	group := service.Start(context.WithoutCancel(c.Context), f.Services()...)
	err = fillSite(c, h, f, all)
	if err == nil {
		<-c.Context.Done()
		_, err = io.WriteString(c.App.Writer, "the site and all that was in it are gone\n")
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(err, group.Stop(now))
}

// fillSite creates the school, and prints who can sign in where.
func fillSite(c *cli.Context, h *access.Cluster, f *wiring.Website, all []*Assignment) error {
	out := c.App.Writer
	if _, err := io.WriteString(out, "filling a site with a class and what it submitted: some seconds\n"); err != nil {
		return err
	}
	demo := &demoSchool{h: h, reg: h.Classes(), now: time.Now()}
	if err := demo.fill(c.Context, all); err != nil {
		return err
	}
	password, err := givePasswords(c.Context, f)
	if err != nil {
		return err
	}
	var rows []table.Row
	for _, p := range demoPeople {
		if p.about != "" {
			rows = append(rows, table.Row{p.handle, password, p.role, p.about})
		}
	}
	if err := terminal.PrintTable(out, "", table.Row{"user", "password", "role", "sees"}, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nthe site is at %s until Ctrl-C\n", f.URL)
	return err
}

// givePasswords gives all people in demoPeople the same new password.
func givePasswords(ctx context.Context, f *wiring.Website) (string, error) {
	const length = 12
	password := rand.Text()[:length]
	for _, p := range demoPeople {
		if p.about == "" {
			continue
		}
		first := rand.Text()
		if err := f.Accounts.GivePassword(ctx, access.Operator(), p.handle, first); err != nil {
			return "", err
		}
		if _, err := f.Accounts.ChangePassword(ctx, core.Actor{Handle: p.handle}, first, password, "127.0.0.1"); err != nil {
			return "", err
		}
	}
	return password, nil
}
