package transfer_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/transfer"
)

// field is a part of a form; with a file name it is a file.
type field struct{ name, file, content string }

// form writes a form as a browser does.
func form(t *testing.T, fields ...field) (io.Reader, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, f := range fields {
		head := textproto.MIMEHeader{}
		disposition := `form-data; name="` + f.name + `"`
		if f.file != "" || f.name == "files" {
			disposition += `; filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(f.file) + `"`
		}
		head.Set("Content-Disposition", disposition)
		part, err := w.CreatePart(head)
		require.NoError(t, err)
		_, err = io.WriteString(part, f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return &body, w.FormDataContentType()
}

// taken reads a form to its end: what came of it, path and content, and modes that are not usual.
func taken(t *testing.T, fields ...field) (map[string]string, error) {
	t.Helper()
	body, kind := form(t, fields...)
	f, err := transfer.Read(body, kind)
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	for u, err := range f.Files() {
		if err != nil {
			return got, err
		}
		content, err := io.ReadAll(u.Content)
		if err != nil {
			return got, err
		}
		require.NotContains(t, got, u.Path)
		got[u.Path] = string(content)
		if u.Mode != 0 {
			got[u.Path] += " " + strconv.FormatUint(uint64(u.Mode), 8)
		}
	}
	return got, nil
}

func zipped(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		require.NoError(t, err)
		_, err = io.WriteString(f, pairs[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func tarred(t *testing.T, heads ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range heads {
		h.Size = int64(len(h.PAXRecords["DROVER.content"]))
		content := h.PAXRecords["DROVER.content"]
		h.PAXRecords = nil
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// plain is a file for tarred.
func plain(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Mode: mode, Typeflag: tar.TypeReg, PAXRecords: map[string]string{"DROVER.content": content}}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func TestAFormsFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields []field
		want   map[string]string
	}{
		"two files":              {[]field{{"files", "a.py", "1"}, {"files", "b.py", "2"}}, map[string]string{"a.py": "1", "b.py": "2"}},
		"none chosen":            {[]field{{"files", "", ""}, {"folder", "", ""}}, map[string]string{}},
		"the same name twice":    {[]field{{"files", "a.py", "1"}, {"files", "A.py", "2"}}, map[string]string{"a.py": "1", "A-2.py": "2"}},
		"a folder":               {[]field{{"folder", "hw1/src/a.py", "1"}, {"folder", "hw1/.git/config", "2"}}, map[string]string{"src/a.py": "1"}},
		"a zip in a folder":      {[]field{{"folder", "hw1/a.zip", "1"}}, map[string]string{"a.zip": "1"}},
		"out of the folder":      {[]field{{"files", "../../etc/passwd", "1"}}, map[string]string{"etc/passwd": "1"}},
		"from the root":          {[]field{{"files", "/etc/passwd", "1"}}, map[string]string{"etc/passwd": "1"}},
		"of Windows":             {[]field{{"files", `C:\x\..\a.py`, "1"}}, map[string]string{"x/a.py": "1"}},
		"what is no text":        {[]field{{"files", "a\u202eb?.py", "1"}}, map[string]string{"a_b_.py": "1"}},
		"a text":                 {[]field{{"name", "", "main.py"}, {"text", "", "a\r\nb"}}, map[string]string{"main.py": "a\nb"}},
		"a text after files":     {[]field{{"files", "a.py", "1"}, {"name", "", "../b.py"}, {"text", "", "2"}}, map[string]string{"a.py": "1", "b.py": "2"}},
		"two texts":              {[]field{{"name", "", "a.py"}, {"text", "", "1"}, {"name", "", "b.py"}, {"text", "", "2"}}, map[string]string{"a.py": "1", "b.py": "2"}},
		"no text":                {[]field{{"name", "", "main.py"}, {"text", "", ""}}, map[string]string{}},
		"a zip":                  {[]field{{"files", "a.ZIP", zipped(t, "x.py", "1", "d/", "", "d/y.py", "2", "__MACOSX/._x.py", "3")}}, map[string]string{"x.py": "1", "d/y.py": "2"}},
		"a zip of a folder":      {[]field{{"files", "hw1.zip", zipped(t, "hw1/x.py", "1")}}, map[string]string{"x.py": "1"}},
		"a zip that climbs":      {[]field{{"files", "a.zip", zipped(t, "../../x.py", "1", "/y.py", "2", `..\z.py`, "3")}}, map[string]string{"x.py": "1", "y.py": "2", "z.py": "3"}},
		"a zip that stays":       {[]field{{"archives", "", "keep"}, {"files", "a.zip", "no zip"}}, map[string]string{"a.zip": "no zip"}},
		"a tar":                  {[]field{{"files", "hw1.tar", tarred(t, plain("hw1/run", "1", 0o755), plain("./b", "2", 0o644))}}, map[string]string{"run": "1 755", "b": "2"}},
		"a git archive":          {[]field{{"files", "hw1.tar.gz", gzipped(t, tarred(t, tar.Header{Typeflag: tar.TypeXGlobalHeader}, plain("a.py", "1", 0o644)))}}, map[string]string{"a.py": "1"}},
		"a name that is an end":  {[]field{{"files", ".zip", "x"}}, map[string]string{".zip": "x"}},
		"an archive in another":  {[]field{{"files", "a.zip", zipped(t, "b.zip", "no zip")}}, map[string]string{"b.zip": "no zip"}},
		"a file and a folder":    {[]field{{"files", "a", "1"}, {"files", "a/b", "2"}, {"files", "a", "3"}}, map[string]string{"a": "1", "b": "2", "a-2": "3"}},
		"a field nobody knows":   {[]field{{"files", "a", "1"}, {"zzz", "", "2"}}, map[string]string{"a": "1"}},
		"a device of Windows":    {[]field{{"files", "con.txt", "1"}}, map[string]string{"_con.txt": "1"}},
		"what programs leave":    {[]field{{"files", ".DS_Store", "1"}, {"files", "b", "2"}}, map[string]string{"b": "2"}},
		"the name after the end": {[]field{{"files", "b", "2"}, {"text", "", ""}}, map[string]string{"b": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := taken(t, test.fields...)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	whole := zipped(t, "a.py", strings.Repeat("x", 1000))
	for name, test := range map[string]struct {
		fields []field
		code   core.Code
		says   string
	}{
		"a text without a name": {[]field{{"text", "", "x"}}, core.CodeInvalid, "give it one"},
		"a long text":           {[]field{{"name", "", "a"}, {"text", "", strings.Repeat("x", 1<<20+1)}}, core.CodeLimit, "as a file"},
		"a long field":          {[]field{{"kind", "", strings.Repeat("x", 70<<10)}}, core.CodeLimit, "longer"},
		"a zip that is none":    {[]field{{"files", "a.zip", "PK no"}}, core.CodeInvalid, "cannot be unpacked"},
		"half a zip":            {[]field{{"files", "a.zip", whole[:len(whole)/2]}}, core.CodeInvalid, "cannot be unpacked"},
		"a tar that is none":    {[]field{{"files", "a.tar", strings.Repeat("no tar", 200)}}, core.CodeInvalid, "cannot be unpacked"},
		"a gzip that is none":   {[]field{{"files", "a.tgz", "\x1f\x8bno"}}, core.CodeInvalid, ""},
		"a link":                {[]field{{"files", "a.tar", tarred(t, tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})}}, core.CodeInvalid, "no links"},
		"a hard link":           {[]field{{"files", "a.tar", tarred(t, tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeLink})}}, core.CodeInvalid, "no links"},
		"a device":              {[]field{{"files", "a.tar", tarred(t, tar.Header{Name: "d", Typeflag: tar.TypeChar})}}, core.CodeInvalid, "no links"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := taken(t, test.fields...)
			require.Equal(t, test.code, core.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, test.says)
		})
	}
	_, err := transfer.Read(strings.NewReader(""), "text/plain")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	many := make([]field, 40)
	for i := range many {
		many[i] = field{"f" + strconv.Itoa(i), "", "x"}
	}
	_, err = taken(t, many...)
	require.Equal(t, core.CodeLimit, core.CodeOf(err))
}

// A form that was refused is shown again with the texts that were typed, wherever it was refused.
func TestTypedTextsAreKeptForAnotherTry(t *testing.T) {
	t.Parallel()
	fields := []field{{"files", "a.py", "1"}, {"files", "b.py", "2"}, {"name", "", "c.py"}, {"text", "", "x\r\ny"}, {"name", "", "d.py"}, {"text", "", ""}}
	want := []transfer.Text{{Name: "c.py", Content: "x\ny"}, {Name: "d.py"}}
	for read := range 4 {
		body, kind := form(t, fields...)
		f, err := transfer.Read(body, kind)
		require.NoError(t, err)
		n := 0
		for u, err := range f.Files() {
			require.NoError(t, err)
			if n++; n > read {
				break
			}
			require.NotEmpty(t, u.Path)
		}
		f.Rest()
		require.Equal(t, want, f.Texts, read)
	}
}

// In a form that was filled from earlier files, a chosen file replaces the text of its name.
func TestAFileReplacesATypedOne(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		body, kind := form(t, field{"files", "a.py", "new"}, field{"name", "", "a.py"}, field{"text", "", "old"})
		f, err := transfer.Read(body, kind)
		require.NoError(t, err)
		f.Replaced = replaced
		got := 0
		for u, err := range f.Files() {
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, u.Content)
			require.NoError(t, err)
			got++
		}
		require.Equal(t, map[bool]int{false: 2, true: 1}[replaced], got)
		require.True(t, f.Sent("a.py"))
	}
}

// Links of zips are told by their mode only.
func TestALinkInAZip(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	head := &zip.FileHeader{Name: "l"}
	head.SetMode(0o777 | 1<<27) // fs.ModeSymlink
	f, err := w.CreateHeader(head)
	require.NoError(t, err)
	_, err = io.WriteString(f, "/etc/passwd")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = taken(t, field{"files", "a.zip", b.String()})
	require.ErrorContains(t, err, "no links")
}

// An archive of very many names takes no memory, and what is left out of one no time.
func TestBombs(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 60_000 {
		names = append(names, strconv.Itoa(i)+strings.Repeat("n", 60), "")
	}
	_, err := taken(t, field{"files", "a.zip", zipped(t, names...)})
	assert.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
	_, err = taken(t, field{"files", "a.zip", zipped(t, names[:30_000]...)})
	assert.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)

	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	const most = 512 << 20
	require.NoError(t, w.WriteHeader(&tar.Header{Name: ".git/huge", Size: most + 1, Mode: 0o600}))
	zeros := make([]byte, 1<<20)
	for range most / len(zeros) {
		_, err := w.Write(zeros)
		require.NoError(t, err)
	}
	_, err = w.Write(zeros[:1])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, packed.Close())
	_, err = taken(t, field{"files", "a.tar.gz", b.String()})
	assert.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
}

// A body that ends too early says so, and one that is too long too.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	body, kind := form(t, field{"files", "a", strings.Repeat("x", 10_000)})
	all, err := io.ReadAll(body)
	require.NoError(t, err)
	for _, test := range []struct {
		body io.Reader
		code core.Code
	}{
		{bytes.NewReader(all[:5000]), core.CodeInvalid},
		{http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(bytes.NewReader(all)), 5000), core.CodeLimit},
	} {
		f, err := transfer.Read(test.body, kind)
		require.NoError(t, err)
		for u, failed := range f.Files() {
			if err = failed; err == nil {
				_, err = io.Copy(io.Discard, u.Content)
			}
			require.Equal(t, test.code, core.CodeOf(err), "%v", err)
		}
		require.Error(t, err)
	}
}

// controlled is an answer whose deadlines can be seen.
type controlled struct {
	http.ResponseWriter
	read time.Time
}

func (c *controlled) SetReadDeadline(at time.Time) error { c.read = at; return nil }
func (c *controlled) SetWriteDeadline(time.Time) error   { return nil }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// Each read gives a body more time, as long as enough comes, but not forever.
func TestIdleReader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bytes int // each time
		pause time.Duration
		lasts time.Duration // till the pause that is one too many
	}{
		"stands still":           {1000, 31 * time.Second, 0},
		"a byte now and then":    {1, 29 * time.Second, 58 * time.Second},
		"half as fast":           {512, time.Second, 119 * time.Second},
		"slow, and as it should": {4096, 2 * time.Second, 30 * time.Minute},
		"fast forever":           {1 << 20, time.Second, 30 * time.Minute},
	} {
		began := time.UnixMilli(1_000_000)
		now := began
		w := &controlled{ResponseWriter: httptest.NewRecorder()}
		body := transfer.Bounded(w, zeros{}, func() time.Time { return now })
		piece := make([]byte, test.bytes)
		for {
			_, err := body.Read(piece)
			require.NoError(t, err)
			if now.Add(test.pause).After(w.read) {
				break
			}
			now = now.Add(test.pause)
		}
		require.Equal(t, test.lasts, now.Sub(began), name)
	}
}

func TestAttachmentsAreNeverShown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b.html":  `attachment; filename=b.html`,
		`x"y.txt`:   `attachment; filename=x_y.txt`,
		"ä b.txt":   `attachment; filename*=utf-8''%C3%A4%20b.txt`,
		"a\r\nX: y": `attachment; filename="a__X_ y"`,
	} {
		w := httptest.NewRecorder()
		_, err := io.WriteString(transfer.Attachment(w, name, 3), "abc")
		require.NoError(t, err)
		h := w.Result().Header
		assert.Equal(t, want, h.Get("Content-Disposition"))
		assert.Equal(t, "application/octet-stream", h.Get("Content-Type"))
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		assert.Contains(t, h.Get("Content-Security-Policy"), "sandbox")
		assert.Equal(t, "3", h.Get("Content-Length"))
	}
}
