package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// maxPage is the longest page that a site gives at once.
const maxPage = 500

// pageOf is a page of a list.
type pageOf[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

// list returns at most limit items of a list, after the one that cursor names.
func list[T any](ctx context.Context, c *Client, parts []string, query url.Values, cursor string, limit int) ([]T, error) {
	all := []T{}
	if query == nil {
		query = url.Values{}
	}
	for len(all) < limit {
		query.Set("limit", strconv.Itoa(min(limit-len(all), maxPage)))
		if query.Del("cursor"); cursor != "" {
			query.Set("cursor", cursor)
		}
		page, err := ask[pageOf[T]](ctx, c, call{method: http.MethodGet, path: parts, query: query})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == "" || page.Next == cursor {
			break
		}
		cursor = page.Next
	}
	return all[:min(len(all), limit)], nil
}

// get reads one thing.
func get[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (T, error) {
	return ask[T](ctx, c, call{method: http.MethodGet, path: parts, query: query})
}

// post makes a POST, and returns its answer.
func post[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (T, error) {
	return ask[T](ctx, c, call{method: http.MethodPost, path: parts, query: query})
}

// values are the parts of a query, names and values in turn, without those that are empty.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 1; i < len(pairs); i += 2 {
		if pairs[i] != "" {
			v.Set(pairs[i-1], pairs[i])
		}
	}
	return v
}
