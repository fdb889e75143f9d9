package school

import (
	"cmp"
	"context"
	digest "crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"drover/core"
)

// LTIKind is what a record about learning platforms is of.
type LTIKind string

// The kinds of records about learning platforms.
const (
	LTIKeys      LTIKind = "key"      // the site's own key pair
	LTIPlatforms LTIKind = "platform" // an LTIPlatform
	LTICourses   LTIKind = "course"   // an LTICourse
	LTILinks     LTIKind = "link"     // an LTILink
	LTIMembers   LTIKind = "member"   // an LTIMember
	LTISents     LTIKind = "sent"     // an LTISent, with the id of its link

	LTIRegistrations LTIKind = "registration" // an LTIRegistration, by the hash of its secret
)

// LTIRecord is a record about learning platforms, as a result store keeps it.
type LTIRecord struct {
	Kind     LTIKind         `json:"kind"`
	ID       string          `json:"id"`              // unique among its kind
	Class    string          `json:"class,omitempty"` // with which it is deleted; "" for none
	Doc      json.RawMessage `json:"doc"`             // may be secret
	Revision int64           `json:"revision"`
}

// LTI keeps what connects classes with learning platforms, such as Canvas and Moodle.
type LTI interface {
	// PutLTI creates or changes a record as every Put of Roster does. Returns NOTFOUND also if it names a class that
	// is not there, CONFLICT if the class is being deleted.
	PutLTI(ctx context.Context, r LTIRecord) (revision int64, err error)
	// GetLTI returns NOTFOUND.
	GetLTI(ctx context.Context, kind LTIKind, id string) (LTIRecord, error)
	// ListLTI lists records of a kind with ids after the given one, in order of id; of one class, or of all for "".
	ListLTI(ctx context.Context, kind LTIKind, class, after string, limit int) ([]LTIRecord, error)
	// DeleteLTI removes a record. Returns false if there is none.
	DeleteLTI(ctx context.Context, kind LTIKind, id string) (bool, error)
}

// Check returns INVALID or LIMIT. No error repeats the content.
func (r LTIRecord) Check() error {
	if len(r.Doc) > MaxLTIRecord {
		return core.Errorf(core.CodeLimit, r.ID, "a record of kind %s has %d bytes, at most %d are allowed", r.Kind, len(r.Doc), MaxLTIRecord)
	}
	if r.Class != "" && !core.ValidName(r.Class) {
		return core.CheckName("class", r.Class)
	}
	return cmp.Or(core.CheckNames("kind", string(r.Kind), "record", r.ID), core.CheckRevision(r.ID, r.Revision))
}

// NoLTI refuses to find a record about a learning platform.
var NoLTI = core.Refuse(core.CodeNotFound, "there is no such record of a learning platform: %s")

// Bounds of what is kept of learning platforms.
const (
	MaxLTIRecord      = 1 << 20 // bytes
	MaxLTIDeployments = 50      // of one platform
	MaxLTIOrigins     = 20      // of one platform
	MaxLTIURL         = 1000    // bytes
	MaxLTIIssuer      = 400     // bytes: identities have it with the name of the platform
	MaxLTIID          = 255     // bytes of an id that a platform gives
)

// LTIPlatform is a learning platform whose users may come to this site, such as a school's Canvas or Moodle.
type LTIPlatform struct {
	ID          string   `json:"id"`                // its permanent name here
	Name        string   `json:"name"`              // for people
	Issuer      string   `json:"issuer"`            // URL by which it names itself
	Client      string   `json:"client_id"`         // this site's id there
	Deployments []string `json:"deployments"`       // where it may be used there; empty: everywhere
	AuthURL     string   `json:"auth_url"`          // where browsers are sent
	TokenURL    string   `json:"token_url"`         // where this site gets its tokens; "" without grades and rosters
	KeysURL     string   `json:"jwks_url"`          // its public keys
	Origins     []string `json:"origins,omitempty"` // where its pages are too, besides those of Issuer and AuthURL
	NewClasses  bool     `json:"new_classes"`       // its teachers may make classes here
	Created     int64    `json:"created_ms"`
	Revision    int64    `json:"revision"`
}

// Check returns INVALID or LIMIT.
func (p *LTIPlatform) Check() error {
	if len(p.Deployments) > MaxLTIDeployments {
		return core.Errorf(core.CodeLimit, p.ID, "platform %s has %d deployments, at most %d are allowed", p.ID, len(p.Deployments), MaxLTIDeployments)
	}
	for i, d := range p.Deployments {
		if err := CheckLTIID(p.ID, "deployment", d); err != nil {
			return err
		}
		if slices.Contains(p.Deployments[:i], d) {
			return core.Errorf(core.CodeInvalid, p.ID, "deployment %.80q is named twice", d)
		}
	}
	if len(p.Origins) > MaxLTIOrigins {
		return core.Errorf(core.CodeLimit, p.ID, "platform %s has %d further origins, at most %d are allowed", p.ID, len(p.Origins), MaxLTIOrigins)
	}
	for _, o := range p.Origins {
		if origin(o) != o {
			return core.Errorf(core.CodeInvalid, p.ID, "the origin %.80q must have the form https://host, without a path", o)
		}
	}
	return cmp.Or(
		core.CheckName("platform", p.ID), core.CheckTitle(p.ID, "name", p.Name), CheckLTIID(p.ID, "client id", p.Client), core.CheckTimes(p.ID, p.Created),
		CheckLTIURL(p.ID, "issuer", p.Issuer), core.CheckLine(p.ID, "issuer", p.Issuer, MaxLTIIssuer), CheckLTIURL(p.ID, "address of sign-in", p.AuthURL), CheckLTIURL(p.ID, "address of keys", p.KeysURL),
		optional(p.ID, "address of tokens", p.TokenURL),
	)
}

// PageOrigins are the origins at which the platform's pages may be: those of its issuer and of its sign-in, and the
// further ones.
func (p *LTIPlatform) PageOrigins() []string {
	all := slices.Clone(p.Origins)
	for _, address := range []string{p.Issuer, p.AuthURL} {
		if o := origin(address); o != "" && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// Owns reports whether an address is one of the platform's pages, by https.
func (p *LTIPlatform) Owns(address string) bool {
	return CheckLTIURL("", "", address) == nil && slices.Contains(p.PageOrigins(), origin(address))
}

// origin returns the origin of an address by https; "" for any other.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(u.Host, " ;,'\"\\*") {
		return ""
	}
	return "https://" + strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// optional checks a URL that may be left out.
func optional(id, what, s string) error {
	if s == "" {
		return nil
	}
	return CheckLTIURL(id, what, s)
}

// CheckLTIID checks an id that a platform gives. Returns INVALID or LIMIT.
func CheckLTIID(id, what, s string) error {
	if s == "" {
		return core.Errorf(core.CodeInvalid, id, "the %s is missing", what)
	}
	return core.CheckLine(id, what, s, MaxLTIID)
}

// CheckLTIURL checks an address at a platform. Which schemes may be asked is decided when it is asked. Returns INVALID
// or LIMIT.
func CheckLTIURL(id, what, s string) error {
	if err := core.CheckLine(id, what, s, MaxLTIURL); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(s, " ;,'\"\\") {
		return core.Errorf(core.CodeInvalid, id, "the %s %.80q must have the form https://host/path", what, s)
	}
	return nil
}

// LTIRegistration lets one platform register itself, once.
type LTIRegistration struct {
	By      string `json:"by"` // the admin who made it
	Expires int64  `json:"expires_ms"`
}

// LTICourse is a course of a platform whose people come to a class.
type LTICourse struct {
	Platform   string `json:"platform"`
	Deployment string `json:"deployment"`
	Context    string `json:"context"` // the platform's id of the course
	Title      string `json:"title,omitempty"`
	Class      string `json:"class"`
	By         string `json:"by"` // who connected it
	At         int64  `json:"at_ms"`
	Members    string `json:"members,omitempty"` // address at which the platform says who is in it; "": it does not
	Revision   int64  `json:"revision"`
}

// ID is the id of the course's record.
func (c *LTICourse) ID() string { return LTIID(c.Platform, c.Deployment, c.Context) }

// Check returns INVALID or LIMIT.
func (c *LTICourse) Check() error {
	return cmp.Or(
		core.CheckNames("platform", c.Platform, "class", c.Class, "user", c.By), CheckLTIID(c.Class, "deployment", c.Deployment),
		CheckLTIID(c.Class, "course", c.Context), core.CheckLine(c.Class, "title", c.Title, core.MaxLine),
		core.CheckTimes(c.Class, c.At), optional(c.Class, "address of members", c.Members),
	)
}

// LTILink is a link in a platform's course that leads to an assignment.
type LTILink struct {
	Platform   string `json:"platform"`
	Deployment string `json:"deployment"`
	Context    string `json:"context"`
	Link       string `json:"link"` // the platform's id of the link
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	LineItem   string `json:"line_item,omitempty"` // address of its column in the platform's gradebook; "" for none
	At         int64  `json:"at_ms"`
	Revision   int64  `json:"revision"`
}

// ID is the id of the link's record.
func (l *LTILink) ID() string { return LTIID(l.Platform, l.Deployment, l.Context, l.Link) }

// Check returns INVALID or LIMIT.
func (l *LTILink) Check() error {
	return cmp.Or(
		core.CheckNames("platform", l.Platform, "class", l.Class, "assignment", l.Assignment), CheckLTIID(l.Class, "deployment", l.Deployment),
		CheckLTIID(l.Class, "course", l.Context), CheckLTIID(l.Class, "link", l.Link), optional(l.Class, "address of scores", l.LineItem), core.CheckTimes(l.Class, l.At),
	)
}

// LTIMember is somebody who came from a course, or who was made because the platform says that it is there.
type LTIMember struct {
	Platform string `json:"platform"`
	Context  string `json:"context"`
	Subject  string `json:"subject"` // the platform's permanent name for the user
	User     string `json:"user"`
	Class    string `json:"class"`
	Made     int64  `json:"made_ms,omitempty"` // when the user was made from the platform's list; 0 once somebody came
}

// ID is the id of the member's record.
func (m *LTIMember) ID() string { return LTIID(m.Platform, m.Context, m.Subject) }

// Check returns INVALID or LIMIT.
func (m *LTIMember) Check() error {
	return cmp.Or(
		core.CheckNames("platform", m.Platform, "class", m.Class, "user", m.User), CheckLTIID(m.Class, "course", m.Context), CheckLTIID(m.Class, "subject", m.Subject),
	)
}

// LTISent is which scores a platform has of a link.
type LTISent struct {
	LineItem string              `json:"line_item"` // of which it is
	Scores   map[string]LTIScore `json:"scores"`    // subject → what the platform took last
	Failed   string              `json:"failed,omitempty"`
	FailedAt int64               `json:"failed_ms,omitempty"` // of the last try, if it failed
}

// LTIScore is a score that a platform took.
type LTIScore struct {
	Score *float64 `json:"score"` // nil: submitted, without a score yet
	Most  *float64 `json:"max_score"`
	At    int64    `json:"at_ms"` // its timestamp, later than those before
}

// Same reports whether two scores differ in nothing but their time.
func (s LTIScore) Same(o LTIScore) bool {
	same := func(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return same(s.Score, o.Score) && same(s.Most, o.Most)
}

// LTIID makes the id of a record from ids that a platform gives.
func LTIID(parts ...string) string {
	sum := digest.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s\n", len(p), p) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)[:20])
}
