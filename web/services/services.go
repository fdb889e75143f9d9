// Package services has what both the API and the pages are made from, so that both give the same answers.
package services

import (
	"net/url"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/cluster/join"
	"drover/core/cluster/operate"
	"drover/core/requests"
	"drover/web/live"
	"drover/web/transfer"
)

// Deps are the services. All of them check the caller's rights themselves.
type Deps struct {
	Name     string   // of the site
	URL      *url.URL // by which browsers reach the site, without a path
	Classes  *classes.Service
	Requests *requests.Service
	Cluster  *operate.Service
	Leases   Leases // nil: there are none, see LeaseService
	Accounts *account.Service
	LTI      *lti.Service // nil: nobody comes from learning platforms
	Join     *join.Service
	Live     *live.Streams
	Limits   core.Limiter
	Beat     time.Duration // between heartbeats, the same in the whole cluster
	Log      logrus.FieldLogger
	// Repositories fetches what is submitted from Git; nil: nothing is.
	Repositories *transfer.Repositories
	Now          func() time.Time // nil: time.Now
}
