package wiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/account"
	"drover/core/config"
)

// AdminLinkFile is the file in the data folder that has the sign-in link of the first admin. Logs are read by others,
// and are kept; who has the link owns the site.
const AdminLinkFile = "admin-link"

// announcing prints what an operator should know at the start, or logs it where programs read the log.
func announcing(cfg *config.Config, log logrus.FieldLogger, w io.Writer, text string) error {
	if cfg.LogFormat != config.LogJSON {
		_, err := io.WriteString(w, text)
		return err
	}
	for line := range strings.Lines(text) {
		log.Info(strings.TrimSpace(line))
	}
	return nil
}

// announce says where the site is, and how its first admin gets in.
func (f *Website) announce(c *cli.Context, cfg *config.Config, log logrus.FieldLogger) error {
	text, err := f.announcement(c.Context, cfg.Data)
	if err != nil {
		return err
	}
	return announcing(cfg, log, c.App.Writer, text)
}

// announcement says where the site is, and how its first admin gets in.
func (f *Website) announcement(ctx context.Context, data string) (string, error) {
	text := "the site is at " + f.URL.String() + "\n"
	file := filepath.Join(data, AdminLinkFile)
	admin, secret, err := f.Accounts.Bootstrap(ctx)
	switch {
	case core.Is(err, core.CodeLimit): // it has started often within an hour
		return text + "no admin can sign in yet: use the link in " + file + ", which an earlier start wrote\n", nil
	case err != nil:
		return "", err
	case secret == "":
		return text, replaceSecret(file, "")
	}
	text += fmt.Sprintf("no admin can sign in yet: the link in %s signs %s in, once, within %s\n",
		file, admin, strings.TrimSuffix(account.LinkLife.String(), "0m0s"))
	return text, replaceSecret(file, account.Link{Secret: secret}.At(f.URL).URL+"\n")
}

// replaceSecret writes a file that only this user can read, in place of an earlier one. Without a text there is no file.
func replaceSecret(path, text string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && text != "" {
		err = writeNew(path, text)
	}
	return core.Wrap(err, core.CodeUnavailable, path, "the file %s of the first admin's sign-in link cannot be written", path)
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
