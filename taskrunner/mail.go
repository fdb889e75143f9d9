package taskrunner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wneessen/go-mail"

	"drover/core"
	"drover/core/account"
)

// SMTP is the server that takes mail.
type SMTP struct {
	Host           string
	Port           int
	User, Password string // "": it asks for none
	TLS            bool   // from the first byte
	Plain          bool   // never
	From           string
	Options        []mail.Option // in tests: its certificate
}

const (
	mailTimeout = 30 * time.Second // of one step with the server
	mailTries   = 6
)

// mailPauses are those between two tries, an hour in all: a link that comes later is of no use.
var mailPauses = [mailTries - 1]time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 40 * time.Minute}

func mailPause(failures int) time.Duration {
	p := mailPauses[min(max(failures, 1), len(mailPauses))-1]
	return p + time.Duration(rand.Int64N(int64(p)/10+1)) //nolint:gosec // it spreads load
}

// errRefused is a mail that the server will never take.
var errRefused = errors.New("refused for good")

// postbag sends mail by one connection, which it opens with the first one.
type postbag struct {
	to     *SMTP
	client *mail.Client
}

// send sends a letter, under the same id at each try. Returns UNAVAILABLE if another try may help, and errRefused.
func (p *postbag) send(ctx context.Context, id, name, address string, l account.Letter) error {
	m := mail.NewMsg()
	if err := errors.Join(m.From(p.to.From), m.AddToFormat(name, address)); err != nil {
		return fmt.Errorf("%w: %s", errRefused, core.OneLine(err.Error(), maxQuote))
	}
	m.Subject(l.Subject)
	m.SetBodyString(mail.TypeTextPlain, l.Text)
	m.SetMessageIDWithValue(id + "@" + p.to.Host)
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	if err := p.open(ctx); err != nil {
		return core.Errorf(core.CodeUnavailable, p.to.Host, "the mail server does not take mail: %s", core.OneLine(err.Error(), maxQuote))
	}
	err := p.client.Send(m)
	if err == nil {
		return nil
	}
	var refusal *mail.SendError
	if errors.As(err, &refusal) && !refusal.IsTemp() && refusal.ErrorCode() >= 500 {
		return fmt.Errorf("%w: %s", errRefused, core.OneLine(err.Error(), maxQuote))
	}
	p.close()
	return core.Errorf(core.CodeUnavailable, p.to.Host, "the mail server did not take a mail: %s", core.OneLine(err.Error(), maxQuote))
}

// open connects unless there is a connection.
func (p *postbag) open(ctx context.Context) error {
	if p.client != nil {
		return nil
	}
	s := p.to
	options := []mail.Option{mail.WithPort(s.Port), mail.WithTimeout(mailTimeout), mail.WithTLSPolicy(mail.TLSMandatory)}
	switch {
	case s.TLS:
		options = append(options, mail.WithSSL())
	case s.Plain:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	}
	if s.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.User), mail.WithPassword(s.Password))
	}
	c, err := mail.NewClient(s.Host, append(options, s.Options...)...)
	if err == nil {
		err = c.DialWithContext(ctx)
	}
	if err == nil {
		p.client = c
	}
	return err
}

func (p *postbag) close() {
	if p.client != nil {
		_ = p.client.Close() // what was sent was taken
		p.client = nil
	}
}
