// Package claims is an owner's side of the queue: its registration and proof of
// life (Presence), and the Desk at which its workers take and end work.
package claims
