package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// metadataURL is where a machine of EC2 learns about itself.
const metadataURL = "http://169.254.169.254"

// MetadataURL returns where this machine learns about itself: the programs of AWS read the same variable.
func MetadataURL() string { return cmp.Or(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), metadataURL) }

// NoticeEvery is how often a machine looks whether it is taken back: EC2 says so two minutes before.
const NoticeEvery = 5 * time.Second

// Notice says that a machine is taken back.
type Notice struct {
	Action string    `json:"action"` // terminate, stop or hibernate
	Time   time.Time `json:"time"`
}

const (
	maxNotice     = 4 << 10
	noticeTimeout = 2 * time.Second
	spotNotice    = 2 * time.Minute // EC2 says so that long before
)

var errNoTime = errors.New("it says no time")

// metadata asks without a proxy: the address is the machine's own.
var metadata = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: noticeTimeout}

// ReadNotice asks a machine's metadata service at a base URL (version 2 of its protocol) whether the machine is taken
// back; false if it is not. Returns UNAVAILABLE if the service does not answer as one does.
func ReadNotice(ctx context.Context, base string) (Notice, bool, error) {
	base = strings.TrimSuffix(base, "/")
	token, _, err := meta(ctx, http.MethodPut, base+"/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60")
	if err != nil {
		return Notice{}, false, err
	}
	text, found, err := meta(ctx, http.MethodGet, base+"/latest/meta-data/spot/instance-action", "X-aws-ec2-metadata-token", string(token))
	if err != nil || !found {
		return Notice{}, false, err
	}
	var n Notice
	if err := json.Unmarshal(text, &n); err != nil || n.Time.IsZero() {
		return Notice{}, false, core.Wrap(cmp.Or(err, errNoTime), core.CodeUnavailable, "", "the metadata service says in an unknown way that the machine is taken back")
	}
	return n, true, nil
}

// Left is how long a machine still has, by its own clock: at most as long as EC2 says before, in case that clock is wrong.
func (n Notice) Left(now time.Time) time.Duration { return max(0, min(n.Time.Sub(now), spotNotice)) }

// triesUnheard is how often a metadata service is asked that has never answered: then there is none.
const triesUnheard = 60

// WaitNotice returns once the machine is taken back, or an error when ctx ends. A service that does not answer is asked
// again; one that has never answered is given up after five minutes, with UNAVAILABLE.
func WaitNotice(ctx context.Context, base string, c clock.Clock) (Notice, error) {
	heard := false
	for try := 1; ; try++ {
		n, is, err := ReadNotice(ctx, base)
		if err == nil && is {
			return n, nil
		}
		if heard = heard || err == nil; !heard && try >= triesUnheard {
			return Notice{}, err
		}
		if err := clock.Sleep(ctx, c, NoticeEvery); err != nil {
			return Notice{}, err
		}
	}
}

func meta(ctx context.Context, method, url, header, value string) ([]byte, bool, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, false, core.Wrap(err, core.CodeInvalid, url, "%s is no address of a metadata service", url)
	}
	r.Header.Set(header, value)
	reply, err := metadata.Do(r)
	if err != nil {
		return nil, false, core.Wrap(err, core.CodeUnavailable, "", "the metadata service does not answer")
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxNotice))
	switch {
	case err != nil:
		return nil, false, core.Wrap(err, core.CodeUnavailable, "", "the metadata service does not answer")
	case reply.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return nil, false, nil
	case reply.StatusCode != http.StatusOK:
		return nil, false, core.Errorf(core.CodeUnavailable, "", "the metadata service answers %s", reply.Status)
	}
	return text, true, nil
}
