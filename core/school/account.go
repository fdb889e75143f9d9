package school

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/pattern"
)

// Account is how a user authenticates. Every user has one; it is empty for a user that never signed in.
type Account struct {
	User       string `json:"user"`
	Password   string `json:"-"`                       // hash in PHC string format; "" for none: the user signs in by other means
	ChangedAt  int64  `json:"changed_ms,omitempty"`    // when the password changed, ms since 1970
	SignedOut  int64  `json:"signed_out_ms,omitempty"` // sessions and sign-in links that are older are void; the same holds for ChangedAt
	MustChange bool   `json:"must_change,omitempty"`   // another user set the password: it must be changed at the next sign-in
	Language   string `json:"language,omitempty"`      // BCP 47; "" is the browser's
	Revision   int64  `json:"revision"`                // as User's; 0 is an account that is not stored yet
}

// TokenKind is what a token can be used for.
type TokenKind string

// The kinds of tokens.
const (
	TokenAPI    TokenKind = "api"    // a program's, until it expires or is revoked
	TokenLink   TokenKind = "link"   // one sign-in, without a password
	TokenInvite TokenKind = "invite" // one sign-in of a student of a class who has no other way in
)

// Scope is what a token may be used for; its user's rights bound it further.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // look at what the user may see
	ScopeSubmit  Scope = "submit"  // submit, run, cancel and try again
	ScopeTeach   Scope = "teach"   // change classes, assignments, grades; exports
	ScopeCluster Scope = "cluster" // hosts, pools, queues, schedules
	ScopeAdmin   Scope = "admin"   // users and classes
)

// Scopes returns all scopes, in the order of what they allow.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeSubmit, ScopeTeach, ScopeCluster, ScopeAdmin} }

// Token is a secret that stands for a user. The secret itself is not stored, only its hash.
type Token struct {
	ID      string    `json:"id"` // shown in lists; not secret
	Kind    TokenKind `json:"kind"`
	User    string    `json:"user"`
	Name    string    `json:"name"`   // what its user calls it, such as "laptop"
	Hash    string    `json:"-"`      // SHA-256 of the secret in lower-case hex
	Scopes  []Scope   `json:"scopes"` // of an API token
	Created int64     `json:"created_ms"`
	Expires int64     `json:"expires_ms"`        // never later than MaxTokenLife after Created
	Used    int64     `json:"used_ms,omitempty"` // last use, to a minute; of an invitation, when it was sent by mail; 0 for never
	Class   string    `json:"class,omitempty"`   // that an invitation is for
	By      string    `json:"by,omitempty"`      // who made an invitation; need not be a user
}

// Bounds on accounts.
const (
	MaxTokens     = 50 // of one user and kind
	MaxTokenLife  = 366 * 24 * time.Hour
	KeepInvites   = 366 * 24 * time.Hour // after their end: lists say that they expired
	MaxIdentities = 20                   // of one user
)

// Identity is a user's identity at a provider of OpenID Connect.
type Identity struct {
	Issuer  string `json:"issuer"`  // URL of the provider
	Subject string `json:"subject"` // the provider's permanent name for the user
	User    string `json:"user"`
	Created int64  `json:"created_ms"`
}

// Accounts keeps how users authenticate. DeleteUser removes everything that belongs to a user.
type Accounts interface {
	// GetAccount returns an empty account for a user without one, NOTFOUND if there is no such user.
	GetAccount(ctx context.Context, user string) (Account, error)
	// PutAccount creates or changes an account as every Put of Roster does. Returns NOTFOUND also if there is no such
	// user.
	PutAccount(ctx context.Context, a Account) (revision int64, err error)

	// WaysIn says how users can sign in, at most MaxKeys, in order of handle. Unknown users are left out.
	WaysIn(ctx context.Context, users []string) ([]WayIn, error)

	// AddToken stores a token. Returns CONFLICT if its id or hash is taken, NOTFOUND if there is no such user, LIMIT
	// if the user would have more than MaxTokens of its kind that are still valid at the token's Created. If several
	// are added at once near the limit, all may get LIMIT; never more than MaxTokens are stored.
	AddToken(ctx context.Context, t Token) error
	// TokenByHash finds a token by the hash of its secret, expired or not. Returns NOTFOUND.
	TokenByHash(ctx context.Context, hash string) (Token, error)
	// Tokens lists a user's tokens of a kind, newest first.
	Tokens(ctx context.Context, user string, kind TokenKind) ([]Token, error)
	// SpendToken removes a token and returns it. If several callers ask at once, one gets it and the others NOTFOUND.
	SpendToken(ctx context.Context, hash string) (Token, error)
	// RemoveToken removes a user's token by id. Returns false if the user has no such token.
	RemoveToken(ctx context.Context, user, id string) (bool, error)
	// TouchToken records when a token was used; a token that is gone stays gone.
	TouchToken(ctx context.Context, id string, at int64) error
	// PurgeTokens removes at most limit tokens that expired before the given time, invitations KeepInvites later, and
	// returns how many.
	PurgeTokens(ctx context.Context, before int64, limit int) (int, error)

	// AddIdentity ties an identity to a user; if it is already tied to that user, nothing changes. Returns CONFLICT
	// if it is another user's, NOTFOUND for an unknown user, LIMIT for more than MaxIdentities.
	AddIdentity(ctx context.Context, id Identity) error
	// GetIdentity returns the user of an identity. Returns NOTFOUND.
	GetIdentity(ctx context.Context, issuer, subject string) (Identity, error)
	// Identities lists a user's identities, in order of issuer and subject.
	Identities(ctx context.Context, user string) ([]Identity, error)
	// RemoveIdentity removes an identity of a user. Returns false if the user has no such identity.
	RemoveIdentity(ctx context.Context, user, issuer, subject string) (bool, error)
}

// The bounds of accounts, in bytes.
const (
	MaxPasswordHash = 512
	MaxIssuer       = 500
	MaxSub          = 255 // a provider's name for a user, as OpenID Connect has it
)

var (
	// phc is the form of a password's hash: $algorithm$parameters$salt$hash.
	phc = pattern.New(`^(\$[a-zA-Z0-9/+.,=-]+){2,8}$`)
	// tag is the form of a language: en, de-CH.
	tag = pattern.New(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)
	// sha256 is the form of a secret's hash.
	sha256 = pattern.New(`^[0-9a-f]{64}$`)
)

// Check returns INVALID or LIMIT; no error repeats the hash.
func (a Account) Check() error {
	if err := core.CheckName("user", a.User); err != nil {
		return err
	}
	if len(a.Password) > MaxPasswordHash {
		return core.Errorf(core.CodeLimit, a.User, "the hash of %s's password has %d bytes, at most %d are allowed", a.User, len(a.Password), MaxPasswordHash)
	}
	if a.Password != "" && !phc().MatchString(a.Password) {
		return core.Errorf(core.CodeInvalid, a.User, "the password of %s is not a hash in PHC string format: a password itself is never stored", a.User)
	}
	if a.Language != "" && !tag().MatchString(a.Language) {
		return core.Errorf(core.CodeInvalid, a.User, "%.40q is not a language of the form en or de-CH", a.Language)
	}
	return core.CheckTimes(a.User, a.ChangedAt, a.SignedOut)
}

// Check checks a new token. Returns INVALID or LIMIT; no error repeats the hash.
func (t Token) Check() error {
	if err := cmp.Or(
		core.CheckNames("token", t.ID, "user", t.User), core.CheckLine(t.ID, "name", t.Name, core.MaxLine), checkHash(t.Hash), core.CheckTimes(t.ID, t.Created, t.Used), checkScopes(t),
	); err != nil {
		return err
	}
	if t.Expires <= t.Created || t.Expires-t.Created > MaxTokenLife.Milliseconds() {
		return core.Errorf(core.CodeInvalid, t.ID, "token %s must expire after it was made, and within %d days", t.ID, int(MaxTokenLife.Hours()/24))
	}
	return nil
}

// checkScopes checks what a token is good for. Returns INVALID.
func checkScopes(t Token) error {
	switch {
	case t.Kind == TokenInvite && !core.ValidName(t.Class):
		return core.Errorf(core.CodeInvalid, t.ID, "invitation %s names no class", t.ID)
	case (t.Kind == TokenLink || t.Kind == TokenInvite) && len(t.Scopes) > 0:
		return core.Errorf(core.CodeInvalid, t.ID, "token %s is a sign-in link, which has no scopes", t.ID)
	case t.Kind == TokenLink || t.Kind == TokenInvite:
		return nil
	case t.Kind != TokenAPI:
		return core.Errorf(core.CodeInvalid, t.ID, "%.40q is no kind of token: use %s or %s", t.Kind, TokenAPI, TokenLink)
	case strings.TrimSpace(t.Name) == "":
		return core.Errorf(core.CodeInvalid, t.ID, "token %s has no name: say what it is for", t.ID)
	case len(t.Scopes) == 0:
		return core.Errorf(core.CodeInvalid, t.ID, "token %s has no scope: name what it is for", t.ID)
	}
	for i, s := range t.Scopes {
		if !slices.Contains(Scopes(), s) || slices.Contains(t.Scopes[:i], s) {
			return core.Errorf(core.CodeInvalid, t.ID, "%.40q is named twice or is no scope: use some of %v", s, Scopes())
		}
	}
	return nil
}

// checkHash checks the hash of a token's secret. Returns INVALID.
func checkHash(hash string) error {
	if !sha256().MatchString(hash) {
		return core.Errorf(core.CodeInvalid, "", "a token is known by the SHA-256 of its secret, in lower-case hex")
	}
	return nil
}

// Check returns INVALID or LIMIT.
func (id Identity) Check() error {
	return cmp.Or(core.CheckName("user", id.User), CheckIdentityKey(id.Issuer, id.Subject), core.CheckTimes(id.User, id.Created))
}

// CheckIdentityKey checks by what an identity is found. Returns INVALID or LIMIT.
func CheckIdentityKey(issuer, subject string) error {
	if err := cmp.Or(core.CheckLine("an identity", "issuer", issuer, MaxIssuer), core.CheckLine("an identity", "subject", subject, MaxSub)); err != nil {
		return err
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Contains(issuer, " ") {
		return core.Errorf(core.CodeInvalid, "", "an issuer must have the form https://host/path")
	}
	if subject == "" {
		return core.Errorf(core.CodeInvalid, "", "an identity of %s has no subject", issuer)
	}
	return nil
}
