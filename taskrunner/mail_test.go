package taskrunner

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	"github.com/wneessen/go-mail"

	"drover/core"
	"drover/core/account"
	"drover/core/account/secrets"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

// mailbox is a mail server with a certificate and one user.
type mailbox struct {
	SMTP

	mu      sync.Mutex
	got     []string         // the mails, whole
	refuses map[string]error // by receiver
	asked   []string         // receivers
}

// newMailbox starts a server; how changes it before it serves.
func newMailbox(t *testing.T, how func(s *smtp.Server)) *mailbox {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(web.Close)
	b := &mailbox{refuses: map[string]error{}}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailing{box: b}, nil }))
	s.TLSConfig = &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s.Domain = "mail.test"
	if how != nil {
		how(s)
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(at)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	trust := mail.WithTLSConfig(&tls.Config{RootCAs: roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
	b.SMTP = SMTP{
		Host: "127.0.0.1", Port: at.Addr().(*net.TCPAddr).Port, User: "drover", Password: "secret word", From: "Drover <drover@school.example>",
		Options: []mail.Option{trust},
	}
	return b
}

// mailing is a connection to a mailbox.
type mailing struct {
	box  *mailbox
	user string
}

func (c *mailing) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *mailing) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "drover" || password != "secret word" {
			return smtp.ErrAuthFailed
		}
		c.user = user
		return nil
	}), nil
}

func (c *mailing) Mail(string, *smtp.MailOptions) error {
	if c.user == "" {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (c *mailing) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	c.box.asked = append(c.box.asked, to)
	return c.box.refuses[to]
}

func (c *mailing) Data(r io.Reader) error {
	whole, err := io.ReadAll(r)
	c.box.mu.Lock()
	defer c.box.mu.Unlock()
	c.box.got = append(c.box.got, string(whole))
	return err
}

func (c *mailing) Reset()        {}
func (c *mailing) Logout() error { return nil }

// mailFixture has a school whose mails a mailbox takes.
type mailFixture struct {
	t     *testing.T
	store *sqlite.Store
	box   *mailbox
	mails mails
	since int64 // when the tasks were made
}

func newMailFixture(t *testing.T, how func(s *smtp.Server)) *mailFixture {
	t.Helper()
	w := &mailFixture{t: t, store: sqlitetest.Open(t), box: newMailbox(t, how), since: time.Now().UnixMilli()}
	w.mails = mails{accounts: &account.Service{Store: w.store}, classes: w.store, server: &w.box.SMTP}
	for handle, name := range map[string]string{"ann": "Ann Lee", "bob": "Bäb, \"B\"", "cleo": ""} {
		_, err := w.store.PutUser(t.Context(), school.User{Handle: handle, Name: name, Email: handle + "@school.example"})
		require.NoError(t, err)
	}
	_, err := w.store.PutClass(t.Context(), school.Class{Handle: "cs101", Title: "Biology"})
	require.NoError(t, err)
	for _, handle := range []string{"ann", "bob", "cleo"} {
		require.NoError(t, w.store.Enrol(t.Context(), school.Enrolment{Class: "cs101", User: handle, Role: core.RoleStudent}))
	}
	return w
}

func (w *mailFixture) run(kind string, args any) (End, error) {
	w.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(w.t, err)
	for _, k := range []Kind{w.mails.resets(), w.mails.invitations()} {
		if k.Name == kind {
			return k.Handle(w.t.Context(), &Job{Task: core.Task{ID: "t1", Kind: kind, Args: raw, Created: w.since, Requester: "tess"}})
		}
	}
	w.t.Fatalf("no kind %s", kind)
	return End{}, nil
}

func (w *mailFixture) reset(user string) (End, error) {
	w.t.Helper()
	return w.run(school.KindResetMail, school.ResetMailArgs{Digest: secrets.Hash(user), Site: "https://drover.example.org", Language: "de"})
}

func (w *mailFixture) invite(users string) (End, error) {
	w.t.Helper()
	return w.run(school.KindInviteMail, school.InviteMailArgs{Class: "cs101", Users: users, Site: "https://drover.example.org"})
}

// secret is that of the link in a mail.
func secret(t *testing.T, letter string) string {
	t.Helper()
	body := strings.ReplaceAll(strings.ReplaceAll(letter, "=\r\n", ""), "=3D", "=")
	found := regexp.MustCompile(`sign-in/link\?token=(\S+)`).FindStringSubmatch(body)
	require.NotNil(t, found, letter)
	return found[1]
}

// A link comes by mail, over TLS and after a password, and is nowhere else.
func TestResetMail(t *testing.T) {
	t.Parallel()
	w := newMailFixture(t, nil)
	end, err := w.reset("ann@school.example")
	require.NoError(t, err)
	require.Equal(t, "sent", end.Note)
	require.Len(t, w.box.got, 1)
	letter := w.box.got[0]
	require.Equal(t, []string{"ann@school.example"}, w.box.asked)
	for _, line := range []string{`To: "Ann Lee" <ann@school.example>`, `From: "Drover" <drover@school.example>`, "Message-ID: <t1@127.0.0.1>", "Auto-Submitted: auto-generated", "Guten Tag Ann Lee"} {
		require.Contains(t, letter, line)
	}
	in, err := w.mails.accounts.RedeemLink(t.Context(), secret(t, letter))
	require.NoError(t, err)
	require.Equal(t, "ann", in.User.Handle)
	end, err = w.reset("nobody")
	require.NoError(t, err)
	require.Contains(t, end.Note, "not sent")
	require.Len(t, w.box.got, 1)
}

// What a server refuses for now is tried again; a link that did not reach its user is void.
func TestMailThatIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newMailFixture(t, nil)
	w.box.refuses["ann@school.example"] = &smtp.SMTPError{Code: 451, Message: "try later"}
	_, err := w.reset("ann")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	w.box.refuses["ann@school.example"] = &smtp.SMTPError{Code: 550, Message: "no such mailbox"}
	_, err = w.reset("ann")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "no such mailbox")
	left, err := w.store.Tokens(t.Context(), "ann", school.TokenLink)
	require.NoError(t, err)
	require.Empty(t, left)
	w.box.Password = "wrong word"
	_, err = w.reset("bob")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.NotContains(t, err.Error(), "wrong word")
	w.mails.server = nil
	_, err = w.reset("bob")
	require.ErrorContains(t, err, "smtp")
}

// A server without TLS gets no password and no link.
func TestNoMailWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newMailFixture(t, func(s *smtp.Server) { s.TLSConfig, s.AllowInsecureAuth = nil, true })
	_, err := w.reset("ann")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.Empty(t, w.box.asked)
}

// Invitations go to all who have none; a task that is tried again writes to nobody twice.
func TestInviteMail(t *testing.T) {
	t.Parallel()
	w := newMailFixture(t, nil)
	w.box.refuses["bob@school.example"] = &smtp.SMTPError{Code: 550, Message: "no such mailbox"}
	w.box.refuses["cleo@school.example"] = &smtp.SMTPError{Code: 421, Message: "busy"}
	_, err := w.invite("")
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.Len(t, w.box.got, 1)
	delete(w.box.refuses, "cleo@school.example")
	end, err := w.invite("")
	require.NoError(t, err)
	require.Equal(t, "mails sent: 1; the mail server refuses the addresses of bob", end.Note)
	require.Len(t, w.box.got, 2, "ann has hers")
	require.Contains(t, w.box.got[0], "Subject: Your account for Biology")
	in, err := w.mails.accounts.RedeemLink(t.Context(), secret(t, w.box.got[1]))
	require.NoError(t, err)
	require.Equal(t, "cleo", in.User.Handle)
	delete(w.box.refuses, "bob@school.example")
	end, err = w.invite("ann,bob,cleo")
	require.NoError(t, err)
	require.Equal(t, "mails sent: 1", end.Note, "cleo is in, ann's was sent since the task was made")
	require.Contains(t, w.box.got[2], "bob@school.example")
	require.Len(t, w.box.asked, 6)
}
