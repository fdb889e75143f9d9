package student_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// png is a picture of one pixel.
func png(t testing.TB) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	require.NoError(t, err)
	return string(raw)
}

func TestCodeIsShownWithNumbersAndColours(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "README.md", "# x"}, sent{"files", "rle.c", "int main(void) {\n  return 0;\n}\n"})
	require.Contains(t, w.get("ann", at), `href="`+at+`/code"`)
	body := w.get("ann", at+"/code")
	require.Contains(t, body, `<h2 id="file">rle.c</h2>`, "the source comes first")
	require.Contains(t, body, `id="L2"><a class="no" href="#L2" aria-label="Line 2">2</a><code>  <span class="hk">return</span>`)
	require.Contains(t, body, "3 lines")
	require.Contains(t, w.get("tess", at+"/files/README.md?lines=1"), `class="line marked" id="L1"`)
	for _, who := range []string{"cleo", "eve", "nick"} {
		for _, path := range []string{"/code", "/files/rle.c", "/files/rle.c?download=1", "/files/rle.c?show=1"} {
			assert.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, at+path), path)
		}
	}
	assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, at+"/files/none.c"))
}

func TestLongFilesAreFolded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "x%d = %d\n", i, i)
	}
	at := w.submitTo("ann", "hw1", sent{"files", "a.py", text.String()}) + "/files/a.py"
	first := w.get("ann", at)
	require.Contains(t, first, `id="L400"`)
	require.NotContains(t, first, `id="L401"`)
	require.Contains(t, first, "Lines 1 to 400 of 1,000")
	require.Contains(t, first, at+"?from=401")
	middle := w.get("ann", at+"?lines=500-502")
	require.Contains(t, middle, `class="line marked" id="L502"`)
	require.Contains(t, middle, `id="L480"`)
	require.NotContains(t, middle, `id="L479"`)
	all := w.get("ann", at+"?all=1")
	require.Equal(t, 1000, strings.Count(all, `class="line"`))
	for _, odd := range []string{"?from=99999", "?from=-1", "?lines=9-5", "?lines=x", "?lines=99999999999999999999"} {
		require.Equal(t, http.StatusOK, w.status("ann", http.MethodGet, at+odd), odd)
	}
}

// What a browser would run is shown as text, and what it shows is kept in a sandbox.
func TestFilesAreShownSafely(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1", sent{"files", "a.png", png(t)}, sent{"files", "b.svg", "<svg onload=alert(1)>"}, sent{"files", "c.bin", "a\x00b"},
		sent{"files", "d.txt", ""}, sent{"files", "e.pdf", "%PDF-1.7"}, sent{"files", "f.py", "# \xe9t\xe9"}, sent{"files", "g.html", "\x89PNG\r\n\x1a\n<script>"}) + "/files/"
	require.Contains(t, w.get("ann", at+"a.png"), `src="`+at+`a.png?show=1"`)
	for name, kind := range map[string]string{"a.png": "image/png", "e.pdf": "application/pdf", "g.html": "image/png", "b.svg": "application/octet-stream", "c.bin": "application/octet-stream"} {
		h := w.ask("ann", newGet(t, at+name+"?show=1")).Header()
		assert.Equal(t, kind, h.Get("Content-Type"), name)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), name)
		assert.Equal(t, "default-src 'none'; sandbox", h.Get("Content-Security-Policy"), name)
		want := "inline"
		if kind == "application/octet-stream" {
			want = "attachment"
		}
		assert.True(t, strings.HasPrefix(h.Get("Content-Disposition"), want), name)
	}
	svg := w.get("ann", at+"b.svg")
	require.Contains(t, svg, `<span class="hp">onload</span>=`)
	require.NotContains(t, svg, "<svg onload")
	require.Contains(t, w.get("ann", at+"c.bin"), "This file is binary")
	require.Contains(t, w.get("ann", at+"d.txt"), "This file is empty.")
	require.Contains(t, w.get("ann", at+"e.pdf"), "This is a PDF.")
	require.Contains(t, w.get("ann", at+"f.py"), "# été")
	require.Contains(t, w.get("ann", at+"f.py"), "ISO 8859-1")
}

func TestNotebooksAreShownAsTheirCells(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	book := `{"nbformat":4,"metadata":{"language_info":{"name":"python"}},"cells":[
		{"cell_type":"markdown","source":["# Title\n","\n<script>alert(1)</script>\n\n**bold**"]},
		{"cell_type":"code","execution_count":3,"source":"import os","outputs":[
			{"output_type":"display_data","data":{"text/html":["<script>alert(2)</script>"],"text/plain":["Figure"],"image/png":"` +
		base64.StdEncoding.EncodeToString([]byte(png(t))) + `\n"}},
			{"output_type":"error","traceback":["\u001b[31mBoom\u001b[0m <b>"]},
			{"output_type":"display_data","data":{"image/png":"` + base64.StdEncoding.EncodeToString([]byte("<svg>")) + `"}}]}]}`
	at := w.submitTo("ann", "hw1", sent{"files", "a.ipynb", book}, sent{"files", "b.ipynb", `{"nbformat":4,"cells":5}`}) + "/files/"
	body := w.get("ann", at+"a.ipynb")
	require.Contains(t, body, "<strong>bold</strong>")
	require.Contains(t, body, `<span class="hk">import</span>`)
	require.Contains(t, body, "Boom &lt;b&gt;")
	require.NotContains(t, body, "alert(2)")
	require.NotContains(t, body, "<script>alert")
	picture := w.ask("ann", newGet(t, at+"a.ipynb?output=1.0"))
	require.Equal(t, png(t), picture.Body.String())
	require.Equal(t, "image/png", picture.Header().Get("Content-Type"))
	for _, none := range []string{"1.1", "1.2", "9.0", "x", "-1.0", "0.0"} {
		require.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, at+"a.ipynb?output="+none), none)
	}
	require.Contains(t, w.get("ann", at+"a.ipynb?text=1"), `id="L1"`)
	require.Contains(t, w.get("ann", at+"b.ipynb"), `id="L1"`, "a broken one is text")
}
