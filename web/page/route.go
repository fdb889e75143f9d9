package page

import (
	"io/fs"

	"drover/core"
)

// Route is one page, or one form's target. The table of all routes is what the test
// of roles against routes is made from.
type Route struct {
	Pattern string      // as net/http has it: "GET /classes/{class}"
	Action  core.Action // the right that the classes service asks for; "" for what every user may
	Public  bool        // also for who has not signed in
	Body    int64       // most bytes of a body; 0 is MaxForm
	Serve   func(r *Request) error
}

// MaxForm bounds the body of a form without files.
const MaxForm = 256 << 10

// Section is what one package of pages adds to a site.
type Section struct {
	Name   string // begins the names of its pages: "student/assignment"
	Pages  fs.FS  // its templates, pages/NAME.html each; a name that begins with _ is a part for all of the section
	Routes []Route
}
