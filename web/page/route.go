package page

import (
	"io/fs"

	"drover/core"
)

// Route is one page, or the target of one form. The test of roles against routes is made from the table of all
// routes.
type Route struct {
	Pattern string      // as in net/http: "GET /classes/{class}"
	Action  core.Action // the right that the service checks; "" for what every user may do
	Public  bool        // also for readers who are not signed in
	Body    int64       // most bytes of a body; 0 is MaxForm
	Serve   func(r *Request) error
}

// MaxForm bounds the body of a form without files.
const MaxForm = 256 << 10

// Section is what one package of pages adds to a site.
type Section struct {
	Name   string // prefix of the names of its pages: "student/assignment"
	Pages  fs.FS  // its templates, pages/NAME.html each; a name that begins with _ is a part for the whole section
	Routes []Route
}
