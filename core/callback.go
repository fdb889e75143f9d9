package core

import (
	"context"
	"time"
)

// How often and how long it is tried to tell the maker of a request of its end: over
// eight hours, for who waits has asked by then.
const (
	CallbackTries   = 6
	CallbackTimeout = 15 * time.Second
)

// Message is an HTTP request that tells somebody of something.
type Message struct {
	Method string
	URL    string
	Header map[string]string
	Body   []byte
	Secret string // whsec_…, by which it is signed as standardwebhooks.com describes
}

// Callback makes what the maker of a request is told of its end, in the words of the compatible API
// that the request came in by. The row holds that end. Returns NOTFOUND if what there was
// to tell is gone.
type Callback func(ctx context.Context, row Row) (Message, error)
