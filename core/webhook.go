package core

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// The events of which webhooks are notified.
const (
	EventRequestEnded = "request.ended"
	EventTaskEnded    = "task.ended"
	EventTest         = "webhook.test"

	EventCommentReleased  = "comment.released"
	EventQuestionAsked    = "question.asked"
	EventQuestionAnswered = "question.answered"
)

// Webhook is an address that is notified of events by messages, signed with its secret as standardwebhooks.com
// describes.
type Webhook struct {
	ID       string   `json:"id"`
	Class    string   `json:"class,omitempty"` // whose events it gets; "" for one that requests and tasks name
	By       string   `json:"by"`              // who created it
	URL      string   `json:"url"`             // https, or http if settings allow it
	Secret   string   `json:"-"`               // whsec_…; shown once. After a rotation, a space and the former secret follow
	Events   []string `json:"events"`
	Disabled bool     `json:"disabled,omitempty"`
	Created  int64    `json:"created_ms"`
	Revision int64    `json:"revision"`
}

// Message makes the HTTP request that carries a body to the webhook.
func (w *Webhook) Message(body []byte) Message {
	return Message{
		Method: "POST", URL: w.URL, Header: map[string]string{"Content-Type": "application/json"}, Body: body, Secret: w.Secret,
	}
}

// Notice is something of which somebody is to be notified: the end of one generation of a request or task, one note of a
// lease, or a comment.
type Notice struct {
	Event string // one of WebhookEvents
	Key   string // of a lease: the Key of its id and the note's number; of a comment: the Key of its id and 1
}

// WebhookEvents lists the events that a webhook can ask for.
func WebhookEvents() []string {
	return slices.Concat([]string{EventRequestEnded, EventTaskEnded}, CommentEvents(), LeaseEvents())
}

// CommentEvents lists the events of what people say about submissions.
func CommentEvents() []string {
	return []string{EventCommentReleased, EventQuestionAsked, EventQuestionAnswered}
}

// Webhooks keeps webhooks and the outbox: notices that were recorded and not yet handed to tasks that deliver them. Put
// is as in school.Roster.
type Webhooks interface {
	// PutWebhook keeps the stored secret if the new record has none. Returns LIMIT if the class has too many.
	PutWebhook(ctx context.Context, w Webhook) (revision int64, err error)
	// GetWebhook returns a webhook with its secret, or NOTFOUND.
	GetWebhook(ctx context.Context, id string) (Webhook, error)
	// DeleteWebhook returns NOTFOUND for an unknown id.
	DeleteWebhook(ctx context.Context, id string) error
	// ListWebhooks lists webhooks of a class, or for "" those without a class, with ids after the given one, in order
	// of id and without their secrets.
	ListWebhooks(ctx context.Context, class, after string, limit int) ([]Webhook, error)

	// Outbox lists the oldest notices of requests, tasks and leases that name webhooks or a callback, and of comments of
	// which webhooks are to be notified, which are not marked as sent. A notice is added in the same transaction that records what it tells of.
	Outbox(ctx context.Context, limit int) ([]Notice, error)
	// Sent takes notices out of the outbox. Notices that are not there are ignored.
	Sent(ctx context.Context, notices []Notice) error
	// ToldLease is GetLease for those who notify: it returns deleted leases too, with the note of their deletion, until
	// they are purged.
	ToldLease(ctx context.Context, id string) (Lease, error)
}

// Check returns INVALID. Its URL is for webhook.Addresses to check; its secret is made, never given.
func (w Webhook) Check() error {
	if err := cmp.Or(
		CheckNames("webhook", w.ID, "user", w.By), CheckOptional("class", w.Class), CheckTimes(w.ID, w.Created),
	); err != nil {
		return err
	}
	if len(w.Events) == 0 {
		return Errorf(CodeInvalid, w.ID, "webhook %s asks for no event: use %s", w.ID, strings.Join(WebhookEvents(), ", "))
	}
	all := append(WebhookEvents(), EventTest)
	for i, event := range w.Events {
		if !slices.Contains(all, event) || slices.Contains(w.Events[:i], event) {
			return Errorf(CodeInvalid, w.ID, "webhook %s asks for %.40q twice or for no event: use %s",
				w.ID, event, strings.Join(WebhookEvents(), ", "))
		}
	}
	return nil
}
