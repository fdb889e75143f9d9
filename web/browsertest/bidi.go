package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// bidi is a connection that speaks WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/). There is no library for Go.
type bidi struct {
	conn  *websocket.Conn
	event func(method string, params json.RawMessage)

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	ended   error // why nothing is read any more
}

// message is what the browser says: an answer or an event.
type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
}

// largest bounds one message: a picture of a page is a few megabytes.
const largest = 64 << 20

// dialBidi connects; event is called for each event, one after the other.
func dialBidi(ctx context.Context, url string, event func(method string, params json.RawMessage)) (*bidi, error) {
	conn, answer, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	if answer.Body != nil {
		_ = answer.Body.Close() // a switch of protocols has none
	}
	conn.SetReadLimit(largest)
	b := &bidi{conn: conn, event: event, waiting: map[int]chan message{}}
	go b.read()
	return b, nil
}

// read takes in what the browser says until it closes.
func (b *bidi) read() {
	var err error
	for err == nil {
		var m message
		if err = wsjson.Read(context.Background(), b.conn, &m); err == nil {
			b.take(m)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = err
	for _, answer := range b.waiting {
		close(answer)
	}
	clear(b.waiting)
}

func (b *bidi) take(m message) {
	if m.Method != "" {
		b.event(m.Method, m.Params)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer := b.waiting[m.ID]; answer != nil {
		answer <- m // there is room for one
		delete(b.waiting, m.ID)
	}
}

// errRefused is a command that the browser did not carry out.
var errRefused = errors.New("the browser refused")

// call sends a command and reads its result into out, unless that is nil.
func (b *bidi) call(ctx context.Context, method string, params, out any) error {
	answer := make(chan message, 1)
	b.mu.Lock()
	if b.ended != nil {
		defer b.mu.Unlock()
		return b.ended
	}
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mu.Unlock()
	if err := wsjson.Write(ctx, b.conn, map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m, ok := <-answer:
		if !ok {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.ended
		}
		if m.Error != "" {
			return fmt.Errorf("%w: %s: %s: %s", errRefused, method, m.Error, m.Message)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(m.Result, out)
	}
}

// close ends the connection without a word: the browser is ended by its process.
func (b *bidi) close() { _ = b.conn.CloseNow() }
