package student

import (
	"io"
	"net/http"
	"net/url"

	"drover/core"
	"drover/web/page"
	"drover/web/transfer"
)

// fileRow is a file with a link.
type fileRow struct {
	Path, URL string
	Size      int64
}

// fileRows returns files with their URLs, escaped.
func fileRows(below string, files []core.File) []fileRow {
	var rows []fileRow
	for _, f := range files {
		at := url.URL{Path: below + "/" + f.Path}
		rows = append(rows, fileRow{f.Path, at.EscapedPath(), f.Size})
	}
	return rows
}

// deliver answers with a file of known size.
func (d *student) deliver(r *page.Request, name string, size int64, content io.Reader) error {
	_, err := io.Copy(transfer.Attachment(r.W, name, size), content)
	return d.sent(r, err)
}

// sent ends a download. An error after the beginning cannot be shown in a page: the connection is cut, so that no
// browser takes a part for the whole.
func (d *student) sent(r *page.Request, err error) error {
	if err == nil {
		return nil
	}
	d.deps.Log.WithError(err).WithField("path", r.URL.EscapedPath()).Warn("a download was cut short")
	panic(http.ErrAbortHandler)
}
