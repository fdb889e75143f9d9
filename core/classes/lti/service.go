// Package lti lets people of learning platforms, such as Canvas and Moodle, come to classes: LTI 1.3 of 1EdTech, with
// this site as the tool.
//
//	what a platform says      is trusted if
//	who comes (id_token)      its platform's key signed it, it is for this site, and it answers a login that this
//	                          browser began here in the last ten minutes, for the first time
//	an e-mail address         never alone, except for a user of a roster who never had a way in
//	a role in a course        the course was connected with a class by one of the class's teachers
//
// Addresses of platforms are asked only where webhooks may go too.
package lti

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/account/auditlog"
	"drover/core/classes"
	"drover/core/school"
	"drover/core/webhook"
)

// Service lets people of platforms in. The fields are set once; all methods are safe for concurrent use, by several
// processes as well.
type Service struct {
	Store     Store
	Classes   *classes.Service
	Accounts  *account.Service
	Limits    core.Limiter
	Addresses webhook.Addresses // of platforms, which this site asks
	URL       *url.URL          // by which browsers reach this site
	Name      string            // of this site
	Now       func() time.Time  // nil: time.Now

	keys  cachedKeys
	mu    sync.Mutex
	own   *ownKeys
	asked map[string]*http.Client

	access map[string]accessToken // by platform and right
	failed map[string]failure     // by link
}

// Store is what a Service needs of the result store.
type Store interface {
	school.LTI
	school.Counting
	core.AuditLog
}

func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// change writes a sentence about a platform to the audit log and then does what it says.
func (s *Service) change(ctx context.Context, a core.Actor, class, subject, text string, do func() error) error {
	action := core.ActUserManage
	if class != "" {
		action = core.ActClassEdit
	}
	entry := core.AuditEntry{Action: action, Class: class, Subject: subject, Text: text}
	return auditlog.Log{Store: s.Store, Now: s.now}.Do(ctx, a, entry, do)
}

// at returns the URL of a page of this site.
func (s *Service) at(path ...string) string { return s.URL.JoinPath(path...).String() }

// LaunchURL is where platforms send launches.
func (s *Service) LaunchURL() string { return s.at("lti", "launch") }

// DeepURL is where platforms send requests to choose content. Unlike links, they are answered in a frame, too.
func (s *Service) DeepURL() string { return s.at("lti", "deep") }

// here reports whether an address is one of this site's launches.
func (s *Service) here(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= school.MaxLTIURL && u.User == nil && strings.EqualFold(u.Scheme, s.URL.Scheme) && strings.EqualFold(u.Host, s.URL.Host) && (u.Path == "/lti/launch" || u.Path == "/lti/deep")
}

func forbidden(format string, args ...any) error {
	return core.Errorf(core.CodeForbidden, "", format, args...)
}
