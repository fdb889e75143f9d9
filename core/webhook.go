package core

import (
	"context"
)

// The events that webhooks tell of.
const (
	EventRequestEnded = "request.ended"
	EventTaskEnded    = "task.ended"
	EventTest         = "webhook.test"
)

// Webhook is an address that is told of events, signed with its secret as
// standardwebhooks.com describes.
type Webhook struct {
	ID       string   `json:"id"`
	Class    string   `json:"class,omitempty"` // whose events it gets; "" for those that requests and tasks name it for
	By       string   `json:"by"`              // who made it
	URL      string   `json:"url"`             // https, or http where settings allow it
	Secret   string   `json:"-"`               // whsec_…; shown once. After a rotation a space and the former one follow
	Events   []string `json:"events"`
	Disabled bool     `json:"disabled,omitempty"`
	Created  int64    `json:"created_ms"`
	Revision int64    `json:"revision"`
}

// Message is what tells the webhook something.
func (w *Webhook) Message(body []byte) Message {
	return Message{
		Method: "POST", URL: w.URL, Header: map[string]string{"Content-Type": "application/json"}, Body: body, Secret: w.Secret,
	}
}

// Notice is an end that somebody is to be told of: of one generation of a request or task.
type Notice struct {
	Event string // EventRequestEnded or EventTaskEnded
	Key   string
}

// Webhooks keeps webhooks and the outbox: ends that were recorded and not yet
// handed to tasks that deliver them. Put is as in school.Roster.
type Webhooks interface {
	// PutWebhook keeps the secret that is there if a change brings none. Returns LIMIT
	// if the class has too many.
	PutWebhook(ctx context.Context, w Webhook) (revision int64, err error)
	// GetWebhook returns a webhook with its secret, or NOTFOUND.
	GetWebhook(ctx context.Context, id string) (Webhook, error)
	// DeleteWebhook returns NOTFOUND if there is none.
	DeleteWebhook(ctx context.Context, id string) error
	// ListWebhooks lists those of a class, or with "" those of none, with ids after the
	// given one, in order of id and without their secrets.
	ListWebhooks(ctx context.Context, class, after string, limit int) ([]Webhook, error)

	// Outbox lists the oldest ends whose request or task names webhooks or a callback and
	// that were not marked as sent. An end gets there in the very step that records it.
	Outbox(ctx context.Context, limit int) ([]Notice, error)
	// Sent takes notices out of the outbox. Those that are not there are none.
	Sent(ctx context.Context, notices []Notice) error
}
