package transfer

import (
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"drover/core/classes/portable"
)

// Attachment makes an answer a download: browsers save it under the name's last part, and neither show nor run it,
// whatever its type. Size is -1 if it is not known. Each write to the returned writer has its own timeout.
func Attachment(w http.ResponseWriter, name string, size int64) io.Writer {
	h := w.Header()
	name = portable.Part(path.Base(name))
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	if disposition == "" {
		disposition = "attachment"
	}
	h.Set("Content-Disposition", disposition)
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	if size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	return outgoing{w, http.NewResponseController(w)}
}

// Inline makes an answer a file that browsers show, of a type that they run nothing of, such as a picture. The policy
// keeps it in a sandbox all the same.
func Inline(w http.ResponseWriter, name, contentType string, size int64) io.Writer {
	to := Attachment(w, name, size)
	h := w.Header()
	h.Set("Content-Disposition", strings.Replace(h.Get("Content-Disposition"), "attachment", "inline", 1))
	h.Set("Content-Type", contentType)
	return to
}
