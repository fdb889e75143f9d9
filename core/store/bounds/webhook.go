package bounds

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"drover/core"
)

// The bounds of webhooks and schedules.
const (
	MaxURL     = 2 << 10  // a webhook's address
	MaxNotices = 10_000   // that one call takes out of the outbox
	minSecret  = 24       // bytes of a webhook's secret, by standardwebhooks.com
	maxSecret  = 64       //
	maxSecrets = 2        // of a webhook: the new and the former one
	maxCron    = 256      // the times of a schedule
	secretMark = "whsec_" // begins a secret; base64 follows
)

// events are those that a webhook can subscribe to.
var events = map[string]bool{core.EventRequestEnded: true, core.EventTaskEnded: true, core.EventTest: true}

// Webhook checks a webhook; a change may leave out the secret. Returns INVALID or LIMIT.
func Webhook(w core.Webhook) error {
	if err := cmp.Or(
		names("webhook", w.ID, "user", w.By), optional("class", w.Class), address(w), times(w.ID, w.Created), revision(w.ID, w.Revision),
	); err != nil {
		return err
	}
	if len(w.Events) == 0 || len(w.Events) > len(events) {
		return core.Errorf(core.CodeInvalid, w.ID, "webhook %s names %d events: use 1 to %d", w.ID, len(w.Events), len(events))
	}
	for i, event := range w.Events {
		if !events[event] || slices.Contains(w.Events[:i], event) {
			return core.Errorf(core.CodeInvalid, w.ID, "webhook %s asks for %.40q twice or for no event: use %s or %s",
				w.ID, event, core.EventRequestEnded, core.EventTaskEnded)
		}
	}
	if w.Secret == "" && w.Revision > 0 {
		return nil
	}
	secrets := strings.Split(w.Secret, " ")
	if len(secrets) > maxSecrets {
		return core.Errorf(core.CodeInvalid, w.ID, "webhook %s has %d secrets, at most %d are allowed", w.ID, len(secrets), maxSecrets)
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretMark))
		if err != nil || !strings.HasPrefix(secret, secretMark) || len(key) < minSecret || len(key) > maxSecret {
			return core.Errorf(core.CodeInvalid, w.ID, "a secret of webhook %s must be %s and the base64 of %d to %d bytes", w.ID, secretMark, minSecret, maxSecret)
		}
	}
	return nil
}

// address checks the URL of a webhook. Returns INVALID or LIMIT.
func address(w core.Webhook) error {
	if len(w.URL) > MaxURL {
		return core.Errorf(core.CodeLimit, w.ID, "the address of webhook %s has %d bytes, at most %d are allowed", w.ID, len(w.URL), MaxURL)
	}
	u, err := url.Parse(w.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return core.Errorf(core.CodeInvalid, w.ID, "the address of webhook %s must have the form https://host/path, without a user and a fragment", w.ID)
	}
	return nil
}

// Notices checks notices to take out of the outbox and splits their keys. Returns INVALID.
func Notices(notices []core.Notice) ([]Ended, error) {
	if len(notices) > MaxNotices {
		return nil, core.Errorf(core.CodeInvalid, "", "%d notices are more than one call takes, which is %d", len(notices), MaxNotices)
	}
	ended := make([]Ended, len(notices))
	for i, n := range notices {
		if n.Event != core.EventRequestEnded && n.Event != core.EventTaskEnded {
			return nil, core.Errorf(core.CodeInvalid, n.Key, "the outbox holds no %.40q: use %s or %s", n.Event, core.EventRequestEnded, core.EventTaskEnded)
		}
		id, generation, err := core.ParseKey(n.Key)
		if err != nil {
			return nil, err
		}
		ended[i] = Ended{n.Event, id, generation}
	}
	return ended, nil
}

// Ended is a notice with its key split.
type Ended struct {
	Event      string
	ID         string
	Generation int
}
