package api

import (
	"context"
	"net/url"
	"strconv"

	"drover/core/store/bounds"
)

// MaxLimit bounds a page of a list: one more is read, to find out whether there is another page.
const MaxLimit = 500

// Cursor is what every list takes.
type Cursor struct {
	Cursor string `query:"cursor" maxLength:"256" doc:"value of next on the previous page; omit for the first page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"maximum number of items on a page"`
}

// more returns how many items to read.
func (c Cursor) more() int { return c.limit() + 1 }

func (c Cursor) limit() int {
	if c.Limit == 0 {
		return bounds.DefaultRows
	}
	return c.Limit
}

// Page is a page of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"cursor of the next page; empty on the last page"`
}

// listed is the answer with a page.
type listed[T any] struct {
	Link string `header:"Link" doc:"URL of the next page, rel=next"`
	Body Page[T]
}

// paged makes a page of the items found, of which there may be one too many; name returns the cursor after an item.
func paged[T any](ctx context.Context, c Cursor, found []T, name func(*T) string) *listed[T] {
	out := &listed[T]{Body: Page[T]{Items: found}}
	if found == nil {
		out.Body.Items = []T{}
	}
	if most := c.limit(); len(found) > most {
		out.Body.Items = found[:most]
		out.Body.Next = name(&found[most-1])
		out.Link = nextLink(ctx, out.Body.Next, most)
	}
	return out
}

// all is the answer with a list that is short enough for one page.
func all[T any](found []T, err error) (*answer[Page[T]], error) {
	if found == nil {
		found = []T{}
	}
	return answered(Page[T]{Items: found}, err)
}

// nextLink is the URL of this page with another cursor.
func nextLink(ctx context.Context, cursor string, limit int) string {
	r := exchanged(ctx).r
	query := r.URL.Query()
	query.Set("cursor", cursor)
	query.Set("limit", strconv.Itoa(limit))
	next := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
	return "<" + next.String() + `>; rel="next"`
}
