package config

import (
	"os"
	"path/filepath"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestMailServers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("s3:cr@t +/%\n"), 0o600))
	for url, want := range map[string]Mail{
		"smtp://ann@mail.test":                  {Host: "mail.test", Port: 587, User: "ann", Password: "s3:cr@t +/%"},
		"smtps://ann%40school.test@mail.test":   {Host: "mail.test", Port: 465, User: "ann@school.test", Password: "s3:cr@t +/%", TLS: true},
		"smtp://ann@mail.test:2525":             {Host: "mail.test", Port: 2525, User: "ann", Password: "s3:cr@t +/%"},
		"smtp://[::1]:25?starttls=off&nosecret": {Host: "::1", Port: 25, Plain: true},
	} {
		values := map[string]string{"smtp": url, "mail_from": "Drover <drover@school.test>"}
		if want.User != "" {
			values["smtp_password_file"] = path
		}
		c, err := load(workstation(t), values, nil)
		require.NoError(t, err, url)
		want.From = "Drover <drover@school.test>"
		got, err := c.MailServer()
		require.NoError(t, err)
		require.Equal(t, &want, got)
		for _, v := range c.Redacted() {
			require.NotContains(t, v.Value, "cr@t")
		}
	}
	c, err := load(workstation(t), nil, nil)
	require.NoError(t, err)
	got, err := c.MailServer()
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestMailServersThatAreWrong(t *testing.T) {
	t.Parallel()
	for url, wrong := range map[string]string{
		"mail.test":                              "not the URL of a mail server",
		"http://mail.test":                       "not the URL of a mail server",
		"smtp://":                                "not the URL of a mail server",
		"smtp://ann@mail.test":                   "not both",
		"smtps://mail.test?starttls=off":         "exclude each other",
		"smtp://a:s3cret@mail.test?starttls=off": "without encryption",
	} {
		_, err := load(workstation(t), map[string]string{"smtp": url, "mail_from": "drover@school.test"}, nil)
		require.True(t, core.Is(err, core.CodeInvalid), url)
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, from := range []string{"", "nobody", "a@b\nc"} {
		_, err := load(workstation(t), map[string]string{"smtp": "smtp://a:s3cret@mail.test", "mail_from": from}, nil)
		require.ErrorContains(t, err, "mail_from")
	}
}
