package account

import (
	"context"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/secrets"
)

// What the audit log has of sign-ins by password: for each name and address one entry of a kind an hour, and of all
// together not more than somebody may write who tries names from everywhere.
var (
	perEntry   = core.Rate{Every: time.Hour, Burst: 1}
	perEntries = core.Rate{Every: 10 * time.Second, Burst: 1000}
)

// noUser is the subject of an entry about a name that is no user's. The name itself is not written: it may be a password
// that was typed into the wrong field.
const noUser = "sign-in"

// recordSignIn writes a sign-in from an address to the audit log, or why it was refused. The handle is "" for a name that
// nobody has. It does as much for strangers as for users: how long it takes tells nothing.
func (d *Service) recordSignIn(ctx context.Context, name, handle, place, refused string) error {
	entry := core.AuditEntry{Action: core.ActAccount, Subject: handle, Text: "signs in by a password, from " + place}
	actor := own(handle)
	if refused != "" {
		entry.Text, actor = "refuses a sign-in from "+place+": "+refused, core.System()
		if handle == "" {
			entry.Subject = noUser
		}
		if d.Refused != nil {
			d.Refused(handle, place, refused)
		}
	}
	one, err := d.Limits.Take(ctx, "sign-in-entry:"+secrets.Hash(strings.ToLower(name)+" "+place+" "+refused), perEntry, 1)
	if err != nil || !one.Allowed {
		return err
	}
	if all, err := d.Limits.Take(ctx, "sign-in-entries", perEntries, 1); err != nil || !all.Allowed {
		return err
	}
	return d.log().Do(ctx, actor, entry, func() error { return nil })
}

// Why a sign-in by password is refused.
const (
	wrongPassword = "the name or the password is wrong"
	tooOften      = "there were too many tries"
	isDisabled    = "the user is disabled"
)
