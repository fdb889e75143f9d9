package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The account has what was waited for once, and what nobody waited for as well.
func TestAccount(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type look struct {
		at, reaped time.Duration
		living     map[int]life
		births     int64
		sum        time.Duration
		hasty      bool
	}
	for name, looks := range map[string][]look{
		"one process": {{at: 5 * ms, living: map[int]life{7: {own: 5 * ms}}, births: 7, sum: 5 * ms}, {at: 50 * ms, reaped: 60 * ms, births: 7, sum: 60 * ms}},
		"who waits": {
			{at: 5 * ms, living: map[int]life{7: {own: ms}, 8: {own: 4 * ms}}, births: 8, sum: 5 * ms},
			{at: 30 * ms, living: map[int]life{7: {own: ms, children: 20 * ms}}, births: 8, sum: 21 * ms},
			{at: 50 * ms, living: map[int]life{7: {own: 2 * ms, children: 40 * ms}}, births: 9, sum: 42 * ms, hasty: true},
			{at: 60 * ms, reaped: 43 * ms, births: 9, sum: 43 * ms},
		},
		"who does not wait": {
			{at: 5 * ms, living: map[int]life{7: {own: ms}, 8: {own: 4 * ms}}, births: 8, sum: 5 * ms},
			{at: 30 * ms, living: map[int]life{7: {own: ms}, 9: {own: 10 * ms}}, births: 9, sum: 15 * ms},
			{at: 50 * ms, living: map[int]life{7: {own: ms}, 10: {own: 20 * ms}}, births: 10, sum: 35 * ms},
		},
		"a number is another's by now": {
			{at: 5 * ms, living: map[int]life{8: {born: 1, own: 4 * ms}}, births: 8, sum: 4 * ms},
			{at: 30 * ms, living: map[int]life{8: {born: 2, own: 3 * ms}}, births: 8, sum: 7 * ms},
		},
		"an end between list and account": {
			{at: 5 * ms, living: map[int]life{7: {own: 4 * ms}}, births: 7, sum: 4 * ms},
			{at: 10 * ms, births: 7, sum: 4 * ms}, // it ended after the sum was read
			{at: 20 * ms, reaped: 5 * ms, births: 7, sum: 5 * ms},
		},
		"nobody is seen, and nobody waits": {
			{at: 5 * ms, living: map[int]life{7: {own: ms, careless: true}}, births: 7, sum: ms},
			{at: 30 * ms, living: map[int]life{7: {own: 2 * ms, careless: true}}, births: 17, sum: 26 * ms, hasty: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			a := account{began: began}
			for i, l := range looks {
				assert.Equal(t, l.sum, a.look(began.Add(l.at), l.reaped, l.living, l.births), "look %d", i)
				assert.Equal(t, l.hasty, a.hasty, "look %d", i)
			}
		})
	}
}
