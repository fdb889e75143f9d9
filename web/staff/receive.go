package staff

import (
	"io"

	"drover/core"
	"drover/web/page"
	"drover/web/transfer"
)

// enter takes one of the places for those who send a harness, until leave is called. Returns FULL, for what is sent.
func (s *staff) enter(r *page.Request, what string) (leave func(), err error) {
	select {
	case s.room <- struct{}{}:
		return func() { <-s.room }, nil
	default:
		return nil, core.Errorf(core.CodeFull, what, "%s", r.T("Others are sending harnesses right now. Try again in a moment."))
	}
}

// receive has a form with files read.
func (s *staff) receive(r *page.Request, read func(f *transfer.Form) error) error {
	body := transfer.Bounded(r.W, r.Body, s.Now)
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	if err == nil {
		err = read(f)
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, body) // a browser that cannot send everything shows no answer
	}
	return err
}
