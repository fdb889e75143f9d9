package server

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent/wire"
)

// What Go's own client writes is what the agent reads.
func TestReadRequestOfTheStandardClient(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789", 20_000)
	for name, body := range map[string]io.Reader{
		"none":    nil,
		"length":  strings.NewReader(big),
		"chunked": io.MultiReader(strings.NewReader(big)),
		"empty":   io.MultiReader(strings.NewReader("")),
	} {
		req, err := http.NewRequest(http.MethodPut, "http://vm/stage/work", body)
		require.NoError(t, err, name)
		req.Header.Set("Authorization", wire.AuthScheme+"secret")
		req.Header.Set(wire.HeaderOwner, "r1-1.t1")
		var sent bytes.Buffer
		require.NoError(t, req.Write(&sent), name)
		sent.WriteString("GET /status HTTP/1.1\r\n\r\n")

		for _, reader := range []io.Reader{bytes.NewReader(sent.Bytes()), iotest.OneByteReader(bytes.NewReader(sent.Bytes()))} {
			in := bufio.NewReader(reader)
			got, err := readRequest(in)
			require.NoError(t, err, name)
			assert.Equal(t, "PUT /stage/work", got.method+" "+got.path)
			assert.Equal(t, "r1-1.t1", got.owner)
			assert.True(t, got.allowed("secret"))
			assert.False(t, got.allowed("secret "))
			text, err := io.ReadAll(got.body)
			require.NoError(t, err, name)
			if body == nil || name == "empty" {
				assert.Empty(t, text, name)
			} else {
				assert.Equal(t, big, string(text), name)
			}
			next, err := readRequest(in)
			require.NoError(t, err, "%s: the next request follows at once", name)
			assert.Equal(t, "/status", next.path)
			_, err = readRequest(in)
			assert.Equal(t, io.EOF, err, name)
		}
	}
}

// What the agent writes is what Go's own client reads.
func TestAnswer(t *testing.T) {
	t.Parallel()
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer("200 OK", wire.Status{State: wire.Ready}, false))), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.JSONEq(t, `{"state":"ready","processes":0}`, string(text))
	assert.False(t, resp.Close)
}

func TestChunksThatAreNone(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"nothing":        "",
		"no size":        "\r\n",
		"sign":           "+5\r\nhello\r\n0\r\n\r\n",
		"extension":      "5;x=y\r\nhello\r\n0\r\n\r\n",
		"too short":      "6\r\nhello\r\n0\r\n\r\n",
		"bare line feed": "5\nhello\r\n0\r\n\r\n",
		"too long":       "4\r\nhello\r\n0\r\n\r\n",
		"trailer":        "5\r\nhello\r\n0\r\nA: b\r\n\r\n",
		"no end":         "5\r\nhello\r\n",
		"cut":            "5\r\nhel",
		"huge":           "fffffffffff\r\n",
		"endless number": strings.Repeat("0", 10_000),
	} {
		_, err := io.ReadAll(&chunks{in: bufio.NewReader(strings.NewReader(stream))})
		assert.Error(t, err, name)
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte("GET /status HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n"))
	f.Add([]byte("PUT /stage/work HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("POST /run HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bufio.NewReader(bytes.NewReader(stream))
		req, err := readRequest(in)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, req.body)
		if n > int64(len(stream)) || err == nil && req.length >= 0 && n > req.length {
			t.Fatalf("a body of %d bytes came out of %d", n, len(stream))
		}
	})
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("hello"), 3)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		var sent bytes.Buffer
		w := httputil.NewChunkedWriter(&sent)
		for rest := data; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			_, err := w.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, w.Close())
		sent.WriteString("\r\n")
		got, err := io.ReadAll(&chunks{in: bufio.NewReader(&sent)})
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	})
}
