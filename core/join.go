package core

import (
	"cmp"
	"context"
	"time"
)

// JoinToken lets machines become hosts of the cluster. The secret itself is not stored, only its hash.
type JoinToken struct {
	ID      string   `json:"id"`              // begins its hash, so it is found by its secret; not secret
	Hash    string   `json:"hash,omitempty"`  // SHA-256 of the secret in lower-case hex
	By      string   `json:"by"`              // who made it
	Host    string   `json:"host,omitempty"`  // the name of the one host that joins by it; "": the machine's own
	Group   string   `json:"group,omitempty"` // the HostGroup whose labels the hosts get
	Uses    int      `json:"uses"`            // most hosts that join by it
	Joined  []Joined `json:"joined,omitempty"`
	Created int64    `json:"created_ms"` // ms since 1970, by the server's clock, as all moments here
	Expires int64    `json:"expires_ms"` // at most MaxJoinLife later
	// Revision is as in every Put.
	Revision int64 `json:"revision"`
}

// Joined is a host that joined by a token.
type Joined struct {
	Host string `json:"host"`
	Key  string `json:"key,omitempty"` // SHA-256 of what only that machine knows, by which it may ask again
	At   int64  `json:"at_ms"`
}

// Bounds on tokens by which hosts join.
const (
	JoinLife      = 15 * time.Minute // the default
	MaxJoinLife   = time.Hour
	MaxJoinUses   = 100
	MaxJoinTokens = 2000 // in the store
)

// JoinTokens keeps the tokens by which hosts join.
type JoinTokens interface {
	// PutJoinToken is as every Put of school.Roster. Returns LIMIT for more than about MaxJoinTokens.
	PutJoinToken(ctx context.Context, t JoinToken) (revision int64, err error)
	// GetJoinToken finds a token, expired or not. Returns NOTFOUND.
	GetJoinToken(ctx context.Context, id string) (JoinToken, error)
	// JoinTokens lists all tokens, expired ones too, in order of id.
	JoinTokens(ctx context.Context) ([]JoinToken, error)
	// DeleteJoinToken returns NOTFOUND for an unknown id.
	DeleteJoinToken(ctx context.Context, id string) error
}

// NoJoinToken is the error for an unknown token.
func NoJoinToken(id string) error {
	return Errorf(CodeNotFound, id, "there is no join token %.80q: it was revoked, or expired long ago", id)
}

// Check returns INVALID or LIMIT.
func (t JoinToken) Check() error {
	life := time.Duration(t.Expires-t.Created) * time.Millisecond
	switch {
	case t.Uses < 1 || t.Uses > MaxJoinUses:
		return Errorf(CodeInvalid, "uses", "a join token is for 1 to %d hosts, not for %d", MaxJoinUses, t.Uses)
	case t.Host != "" && t.Uses > 1:
		return Errorf(CodeInvalid, "uses", "a join token that names its host is for that one host: leave the name or the number away")
	case life <= 0 || life > MaxJoinLife:
		return Errorf(CodeInvalid, "for", "a join token is good for at most %s, not for %s", MaxJoinLife, life)
	case len(t.Joined) > t.Uses:
		return Errorf(CodeInvalid, t.ID, "join token %s is for %d hosts, and %d joined", t.ID, t.Uses, len(t.Joined))
	}
	return cmp.Or(CheckNames("join token", t.ID, "user", t.By), CheckOptional("host", t.Host), CheckOptional("group", t.Group))
}
