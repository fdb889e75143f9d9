package student

import (
	"io"
	"net/http"

	"drover/web/page"
	"drover/web/transfer"
)

// deliver answers with a file of known size.
func (d *desk) deliver(r *page.Request, name string, size int64, content io.Reader) error {
	_, err := io.Copy(transfer.Attachment(r.W, name, size), content)
	return d.sent(r, err)
}

// sent ends a download. What goes wrong under way cannot be said in a page any more:
// the connection is cut, so that no browser takes a part for the whole.
func (d *desk) sent(r *page.Request, err error) error {
	if err == nil {
		return nil
	}
	d.parts.Log.WithError(err).WithField("path", r.URL.EscapedPath()).Warn("a download was cut short")
	panic(http.ErrAbortHandler)
}
