package bounds

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/service/pattern"
)

// The bounds of accounts, in bytes.
const (
	MaxPasswordHash = 512
	MaxIssuer       = 500
	MaxSub          = 255 // a provider's name for a user, by OpenID Connect
)

var (
	// phc is the format of a password's hash: $algorithm$parameters$salt$hash.
	phc = pattern.New(`^(\$[a-zA-Z0-9/+.,=-]+){2,8}$`)
	// tag is the format of a language: en, de-CH.
	tag = pattern.New(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)
	// sha256 is the format of a secret's hash.
	sha256 = pattern.New(`^[0-9a-f]{64}$`)
)

// Account checks an account. Returns INVALID or LIMIT; no error repeats the hash.
func Account(a school.Account) error {
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
	return cmp.Or(times(a.User, a.ChangedAt, a.SignedOut), revision(a.User, a.Revision))
}

// Token checks a new token. Returns INVALID or LIMIT; no error repeats the hash.
func Token(t school.Token) error {
	if err := cmp.Or(
		names("token", t.ID, "user", t.User), line(t.ID, "name", t.Name, MaxLine), TokenHash(t.Hash), times(t.ID, t.Created, t.Used), scopes(t),
	); err != nil {
		return err
	}
	if t.Expires <= t.Created || t.Expires-t.Created > school.MaxTokenLife.Milliseconds() {
		return core.Errorf(core.CodeInvalid, t.ID, "token %s must expire after it was made, and within %d days", t.ID, int(school.MaxTokenLife.Hours()/24))
	}
	return nil
}

// scopes checks the scopes of a token. Returns INVALID.
func scopes(t school.Token) error {
	switch {
	case t.Kind == school.TokenLink && len(t.Scopes) > 0:
		return core.Errorf(core.CodeInvalid, t.ID, "token %s is a sign-in link, which has no scopes", t.ID)
	case t.Kind == school.TokenLink:
		return nil
	case t.Kind != school.TokenAPI:
		return core.Errorf(core.CodeInvalid, t.ID, "%.40q is no kind of token: use %s or %s", t.Kind, school.TokenAPI, school.TokenLink)
	case strings.TrimSpace(t.Name) == "":
		return core.Errorf(core.CodeInvalid, t.ID, "token %s has no name: say what it is for", t.ID)
	case len(t.Scopes) == 0:
		return core.Errorf(core.CodeInvalid, t.ID, "token %s has no scope: name what it is for", t.ID)
	}
	for i, s := range t.Scopes {
		if !slices.Contains(school.Scopes(), s) || slices.Contains(t.Scopes[:i], s) {
			return core.Errorf(core.CodeInvalid, t.ID, "%.40q is named twice or is no scope: use some of %v", s, school.Scopes())
		}
	}
	return nil
}

// TokenHash checks the hash of a token's secret. Returns INVALID.
func TokenHash(hash string) error {
	if !sha256().MatchString(hash) {
		return core.Errorf(core.CodeInvalid, "", "a token is known by the SHA-256 of its secret, in lower-case hex")
	}
	return nil
}

// Identity checks an identity. Returns INVALID or LIMIT.
func Identity(id school.Identity) error {
	return cmp.Or(core.CheckName("user", id.User), IdentityKey(id.Issuer, id.Subject), times(id.User, id.Created))
}

// IdentityKey checks the key of an identity. Returns INVALID or LIMIT.
func IdentityKey(issuer, subject string) error {
	if err := cmp.Or(line("an identity", "issuer", issuer, MaxIssuer), line("an identity", "subject", subject, MaxSub)); err != nil {
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
