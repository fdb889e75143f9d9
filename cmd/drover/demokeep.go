package main

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

	"drover/core"
	"drover/core/service"
)

// keepDemo fills a site and keeps it up until a signal. It ends with the folder dir.
func keepDemo(c *cli.Context, dir string) error {
	all, pools, err := loadDemo(c, dir)
	if err != nil {
		return err
	}
	return inEmbeddedCluster(c, dir, append(pools, core.DefaultPool("default")), func(c *cli.Context, h *cluster) error {
		return keepSite(c, h, all)
	})
}

func keepSite(c *cli.Context, h *cluster, all []*assignment) error {
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	log.SetLevel(logrus.WarnLevel)
	f, err := newWebsite(h, log)
	if err != nil {
		return err
	}
	group := service.Start(context.WithoutCancel(c.Context), f.services()...)
	err = fillSite(c, h, f, all)
	if err == nil {
		<-c.Context.Done()
		_, err = io.WriteString(c.App.Writer, "the site and all that was in it are gone\n")
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(err, group.Stop(now))
}

// fillSite makes the school, and says who can sign in where.
func fillSite(c *cli.Context, h *cluster, f *website, all []*assignment) error {
	out := c.App.Writer
	if _, err := io.WriteString(out, "filling a site with a class and what it submitted: some seconds\n"); err != nil {
		return err
	}
	school := &demoSchool{h: h, reg: h.classes(), now: time.Now()}
	if err := school.fill(c.Context, all); err != nil {
		return err
	}
	password, err := f.givePasswords(c.Context)
	if err != nil {
		return err
	}
	var rows []table.Row
	for _, p := range demoPeople {
		if p.about != "" {
			rows = append(rows, table.Row{p.handle, password, p.role, p.about})
		}
	}
	if err := printTable(out, "", table.Row{"user", "password", "role", "sees"}, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nthe site is at %s until Ctrl-C\n", f.url)
	return err
}

// givePasswords gives everybody whom demoPeople tells about the same password, made up anew.
func (f *website) givePasswords(ctx context.Context) (string, error) {
	const length = 12
	password := rand.Text()[:length]
	for _, p := range demoPeople {
		if p.about == "" {
			continue
		}
		first := rand.Text()
		if err := f.accounts.GivePassword(ctx, operator(), p.handle, first); err != nil {
			return "", err
		}
		if _, err := f.accounts.ChangePassword(ctx, core.Actor{Handle: p.handle}, first, password, "127.0.0.1"); err != nil {
			return "", err
		}
	}
	return password, nil
}
