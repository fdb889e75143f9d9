package core

import (
	"context"
	"time"
)

// How often and for how long a callback is tried. In all it takes over eight hours; a program that waits longer will
// have polled by then.
const (
	CallbackTries   = 6
	CallbackTimeout = 15 * time.Second
)

// Message is an HTTP request that notifies a program of something.
type Message struct {
	Method string
	URL    string
	Header map[string]string
	Body   []byte
	Secret string // whsec_…; the request is signed with it as standardwebhooks.com describes
}

// Callback makes the message that notifies the maker of a request of its end, in the format of the compatible API
// that the request came in by. The row holds that end. Returns NOTFOUND if the data for the message is gone.
type Callback func(ctx context.Context, row Row) (Message, error)
