package config

import (
	"net/mail"
	"net/url"
	"slices"
	"strconv"
)

// Mail is the server that takes mail from drover, and the sender's address.
type Mail struct {
	Host           string
	Port           int
	User, Password string
	TLS            bool // from the first byte
	Plain          bool // never: for a server on a trusted network
	From           string
}

// The usual ports, and the option that sends without encryption.
const (
	portSubmission  = 587
	portSubmissions = 465

	startTLS = "starttls"
	never    = "off"
)

// MailServer returns the settings smtp and mail_from; nil if drover sends no mail. Returns INVALID.
func (c *Config) MailServer() (*Mail, error) {
	if c.SMTP == "" {
		return nil, nil //nolint:nilnil // there is no server
	}
	u, err := url.Parse(c.SMTP.Reveal())
	if err != nil || !slices.Contains([]string{"smtp", "smtps"}, u.Scheme) || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return nil, c.problem("smtp", "it is not the URL of a mail server: %s", usageOf("smtp"))
	}
	m := &Mail{Host: u.Hostname(), Port: portSubmission, User: u.User.Username(), TLS: u.Scheme == "smtps", Plain: u.Query().Get(startTLS) == never}
	m.Password, _ = u.User.Password()
	if m.TLS {
		m.Port = portSubmissions
	}
	if port := u.Port(); port != "" {
		m.Port, err = strconv.Atoi(port)
	}
	switch {
	case err != nil:
		return nil, c.problem("smtp", "its port is no number")
	case m.Plain && m.TLS:
		return nil, c.problem("smtp", "smtps and %s=%s exclude each other: keep one of the two", startTLS, never)
	case m.Plain && m.User != "":
		return nil, c.problem("smtp", "it would send a password without encryption: leave out the user, or %s=%s", startTLS, never)
	case (m.User == "") != (m.Password == ""):
		return nil, c.problem("smtp", "it has a user or a password, but not both: name the user in the URL, and the password's file in smtp_password_file")
	}
	m.From = c.MailFrom
	if at, err := mail.ParseAddress(m.From); err != nil || len(m.From) > 320 || at.Address == "" {
		return nil, c.problem("mail_from", "it is no address of a sender: write it such as drover@example.org or Drover <drover@example.org>")
	}
	return m, nil
}

func (c *Config) checkMail() error {
	_, err := c.MailServer()
	return err
}

// withMailPassword puts the password into the URL of a mail server that has a user and no password.
func (u URL) withMailPassword(password string) (URL, bool) {
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.User.Username() == "" {
		return u, false
	}
	return u.withPassword(password)
}
