package wiring

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/config"
	"drover/core/coretest"
	"drover/core/store/sqlite/sqlitetest"
)

// The link of the first admin is in a file of its own that only its user can read, not in what is logged.
func TestTheFirstAdminsLinkIsInAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, data := t.Context(), t.TempDir()
	hasher, err := account.NewHasher(account.Cost{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	store, redis := sqlitetest.Open(t), coretest.Mini(t).Open(t)
	f := &Website{
		URL:      &url.URL{Scheme: "https", Host: "school.example"},
		Accounts: &account.Service{Store: store, Limits: redis, Hasher: hasher},
	}
	file := filepath.Join(data, AdminLinkFile)
	require.NoError(t, os.WriteFile(file, []byte("an earlier one"), 0o666))
	require.NoError(t, os.Chmod(file, 0o666))
	for range 100 { // more often than links may be made within an hour
		said, err := f.announcement(ctx, data)
		require.NoError(t, err)
		require.NotContains(t, said, "token=")
		require.Contains(t, said, "the link in "+file)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	link, err := os.ReadFile(file)
	require.NoError(t, err)
	_, secret, found := strings.Cut(strings.TrimSpace(string(link)), "https://school.example/sign-in/link?token=")
	require.True(t, found, "%s", link)
	in, err := f.Accounts.RedeemLink(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, "admin", in.User.Handle)

	_, err = f.Accounts.ChangePassword(ctx, core.Actor{Handle: "admin"}, "", "three blind mice", "192.0.2.7")
	require.NoError(t, err)
	said, err := f.announcement(ctx, data)
	require.NoError(t, err)
	require.Equal(t, "the site is at https://school.example\n", said)
	require.NoFileExists(t, file, "it is of no more use")
}

// A log for programs has nothing in it that is no record.
func TestAnnouncementsAreRecordsInALogForPrograms(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{config.LogText: "printed a\nb\n", config.LogJSON: "logged a\nlogged b\n"} {
		log := logrus.New()
		var both bytes.Buffer
		log.SetOutput(prefixing{&both, "logged "})
		log.SetFormatter(bare{})
		require.NoError(t, announcing(&config.Config{LogFormat: format}, log, prefixing{&both, "printed "}, "a\nb\n"))
		require.Equal(t, want, both.String())
	}
}

type prefixing struct {
	to     *bytes.Buffer
	prefix string
}

func (p prefixing) Write(text []byte) (int, error) {
	p.to.WriteString(p.prefix)
	return p.to.Write(text)
}

type bare struct{}

func (bare) Format(e *logrus.Entry) ([]byte, error) { return []byte(e.Message + "\n"), nil }
