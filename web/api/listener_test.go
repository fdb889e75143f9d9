package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/web"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/services"
)

// listening is the API behind all that requests pass, on a real address.
type listening struct {
	*fixture

	addr    string
	handled chan struct{} // has one for each request whose handler is through
}

// listen lets the API listen, with a clock of its own: deadlines of connections are real.
func listen(t *testing.T, now func() time.Time) *listening {
	t.Helper()
	w := newFixture(t, func(p *services.Deps) { p.Now = now })
	l := &listening{fixture: w, handled: make(chan struct{}, 100)}
	as := http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		defer func() { l.handled <- struct{}{} }()
		w.api.ServeHTTP(to, r.WithContext(caller.With(r.Context(), w.as(r.Header.Get("As")))))
	})
	log := logrus.New()
	log.SetOutput(io.Discard)
	none := http.NotFoundHandler()
	h, err := web.Handler(web.Config{URL: &url.URL{Scheme: "http", Host: "school.example"}, Log: log}, web.Handlers{API: as, Judge0: none, Tango: none, Jobe: none, Events: none, Pages: none})
	require.NoError(t, err)
	s, err := web.Listen("127.0.0.1:0", nil, log)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Service(h).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	l.addr = s.Addr()
	return l
}

// line is a connection to the API.
type line struct {
	net.Conn

	l    *listening
	from *bufio.Reader
}

func (l *listening) dial() *line {
	l.t.Helper()
	c, err := net.Dial("tcp", l.addr)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = c.Close() }) // some tests did
	return &line{c, l, bufio.NewReader(c)}
}

// send sends the head of a request of somebody's, of whose body length bytes are to come.
func (c *line) send(who, method, path string, length int, headers ...string) {
	c.l.t.Helper()
	head := fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: school.example\r\nAs: %s\r\nContent-Length: %d\r\n", method, api.Prefix, path, who, length)
	for i := 0; i < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	c.write(head + "\r\n")
}

func (c *line) write(text string) {
	c.l.t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(c.l.t, err)
}

// hear reads the answer to a request with a method.
func (c *line) hear(method string, status int) (head http.Header, body string) {
	c.l.t.Helper()
	r, err := http.ReadResponse(c.from, &http.Request{Method: method})
	require.NoError(c.l.t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(c.l.t, err)
	require.NoError(c.l.t, r.Body.Close())
	require.Equal(c.l.t, status, r.StatusCode, "%s", text)
	return r.Header, string(text)
}

const submissions = hw1 + "/submissions"

func TestConnectionThatIsCutInTheMiddleLeavesNothing(t *testing.T) {
	t.Parallel()
	l := listen(t, nil)
	l.assignment("hw1")
	kind, body := form("a", "x", "b", strings.Repeat("y", 1<<20))
	for _, most := range []int{0, 100, body.Len() / 2, body.Len() - 1} {
		c := l.dial()
		c.send("ann", "POST", submissions, body.Len(), "Content-Type", kind)
		c.write(body.String()[:most])
		require.NoError(t, c.Close())
		<-l.handled
	}
	l.nothingLeft()
	c := l.dial()
	c.send("ann", "POST", submissions, body.Len(), "Content-Type", kind)
	c.write(body.String())
	c.hear("POST", http.StatusCreated)
}

// The time that a body is given holds for the connection itself, and its end is told.
func TestBodyThatDoesNotComeIsGivenUp(t *testing.T) {
	t.Parallel()
	l := listen(t, func() time.Time { return time.Now().Add(-45 * time.Second) }) // the body's time is over, the answer's is not
	l.assignment("hw1")
	kind, body := form("a", "x")
	c := l.dial()
	c.send("ann", "POST", submissions, body.Len(), "Content-Type", kind)
	_, text := c.hear("POST", http.StatusRequestTimeout)
	require.Contains(t, text, "too slowly")
	l.nothingLeft()
}

func TestCompressedAnswersHaveTagsOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := listen(t, nil)
	l.assignment("hw1", func(as *school.Assignment) { as.Text = strings.Repeat("Sort it. ", 500) })
	c := l.dial()
	c.send("ann", "GET", hw1, 0)
	head, plain := c.hear("GET", http.StatusOK)
	tag := head.Get("ETag")
	c.send("ann", "GET", hw1, 0, "Accept-Encoding", "gzip")
	head, packed := c.hear("GET", http.StatusOK)
	require.Equal(t, "gzip", head.Get("Content-Encoding"))
	require.Contains(t, head.Values("Vary"), "Accept-Encoding")
	require.NotEqual(t, tag, head.Get("ETag"))
	from, err := gzip.NewReader(strings.NewReader(packed))
	require.NoError(t, err)
	unpacked, err := io.ReadAll(from)
	require.NoError(t, err)
	require.JSONEq(t, plain, string(unpacked))

	for _, known := range []string{tag, head.Get("ETag")} {
		c.send("ann", "GET", hw1, 0, "Accept-Encoding", "gzip", "If-None-Match", known)
		_, nothing := c.hear("GET", http.StatusNotModified)
		require.Empty(t, nothing)
		c.send("tess", "PATCH", hw1, 2, "Accept-Encoding", "gzip", "If-Match", known, "Content-Type", "application/json")
		c.write("{}")
		c.hear("PATCH", http.StatusOK)
	}
}

// A HEAD is answered as its GET would be, without a body that would be taken for the next answer.
func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	l := listen(t, nil)
	l.assignment("hw1")
	var s school.Submission
	l.upload("ann", submissions, "main.py", "print()").is(http.StatusCreated).into(&s)
	c, request := l.dial(), requested(l.fixture, 0)
	for path, status := range map[string]int{
		"/me": http.StatusOK, hw1: http.StatusOK, "/nothing": http.StatusNotFound,
		"/requests/" + request + "/events": http.StatusOK, "/requests/" + s.ID + "/events": http.StatusNotFound,
		"/submissions/" + s.ID + "/files/main.py": http.StatusOK, "/submissions/" + s.ID + "/zip": http.StatusOK,
	} {
		c.send("ann", "HEAD", path, 0)
		head, _ := c.hear("HEAD", status)
		require.NotEmpty(t, head.Get("Content-Type"), path)
	}
	c.send("ann", "GET", "/me", 0)
	_, text := c.hear("GET", http.StatusOK)
	require.Contains(t, text, `"ann"`)
}
