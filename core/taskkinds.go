package core

import "time"

// ClusterTaskKinds returns the kinds of task that a cluster itself needs. Those of the school are in core/school.
func ClusterTaskKinds() TaskKinds {
	return TaskKinds{
		{
			Name: KindPurge, Title: "Delete old data",
			Does:        "Delete finished work past its retention, outputs past their lifetime, and files that nothing names",
			Args:        []TaskArg{{Name: "keep_ns", Type: ArgTime, Label: "How long finished work stays; empty for the cluster's setting"}},
			Schedulable: true, Rate: TaskRate{Most: 1},
		},
		{
			Name: KindWebhook, Title: "Notify another program", Does: "Deliver an event to a webhook",
			Args:  []TaskArg{{Name: "webhook"}, {Name: "event"}, {Name: "key"}},
			Right: ActWebhook, Rate: TaskRate{Every: time.Second / 20, Burst: 20, Most: 8},
		},
		{
			Name: KindCallback, Title: "Notify another program", Does: "Tell who made a request through a compatible API of its end",
			Args: []TaskArg{{Name: "key"}},
		},
	}
}

// The kinds of task of the cluster.
const (
	KindPurge    = "purge"
	KindWebhook  = "webhook"
	KindCallback = "callback"
)

// PurgeArgs are the arguments of a purge.
type PurgeArgs struct {
	Keep time.Duration `json:"keep_ns"`
}

// WebhookArgs are the arguments of a delivery.
type WebhookArgs struct {
	Webhook string `json:"webhook"`
	Event   string `json:"event"`
	Key     string `json:"key"` // of the request or task that the event is about
}

// CallbackArgs are the arguments of a callback.
type CallbackArgs struct {
	Key string `json:"key"` // of the request that has ended
}
