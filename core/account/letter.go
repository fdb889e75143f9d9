package account

import (
	"maps"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Letter is a mail's text.
type Letter struct{ Subject, Text string }

// letters are the texts of mails, by language: the pages' sentences are not at hand where mail is sent.
var letters = map[string]struct{ reset, invite Letter }{
	"en": {
		reset: Letter{"Sign in to {site}", `Hello {name},

somebody, probably you, asked {site} for a way to sign in as {user}. This link signs you in once, until {until}:

{link}

Then you set a new password; the old one, if any, is void. If you did not ask for it, do nothing: your password stays
as it is.
`},
		invite: Letter{"Your account for {class}", `Hello {name},

you are invited to {class} at {site}. Your handle there is {user}. This link signs you in for the first time, until {until}:

{link}

Then you set a password. The link is only for you and works once.
`},
	},
	"de": {
		reset: Letter{"Anmelden bei {site}", `Guten Tag {name},

jemand, wahrscheinlich Sie, hat {site} um einen Weg gebeten, sich als {user} anzumelden. Dieser Link meldet Sie einmal
an, bis {until}:

{link}

Danach setzen Sie ein neues Passwort; ein altes gilt dann nicht mehr. Wenn Sie nicht darum gebeten haben, tun Sie
nichts: Ihr Passwort bleibt, wie es ist.
`},
		invite: Letter{"Ihr Zugang zu {class}", `Guten Tag {name},

Sie sind zu {class} bei {site} eingeladen. Ihr Kürzel dort ist {user}. Dieser Link meldet Sie das erste Mal an, bis {until}:

{link}

Danach setzen Sie ein Passwort. Der Link ist nur für Sie und gilt einmal.
`},
	},
}

// ResetLetter is the mail with a link that its user asked for.
func ResetLetter(language string, l Link) Letter { return lettersIn(language).reset.fill(l, "") }

// InviteLetter is the mail with an invitation to a class, which is named by its title.
func InviteLetter(language string, l Link, class string) Letter {
	return lettersIn(language).invite.fill(l, class)
}

// lettersIn returns the texts in a language, in English if there are none.
func lettersIn(language string) struct{ reset, invite Letter } {
	all, is := letters[base(language)]
	if !is {
		all = letters["en"]
	}
	return all
}

// base returns the language without its region.
func base(language string) string {
	of, _, _ := strings.Cut(language, "-")
	return strings.ToLower(of)
}

// checkLanguage returns INVALID for a language in which there are no mails.
func checkLanguage(class, language string) error {
	if _, is := letters[base(language)]; !is {
		return core.Errorf(core.CodeInvalid, class, "there are no mails in language %.40q: use one of %s", language,
			strings.Join(slices.Sorted(maps.Keys(letters)), ", "))
	}
	return nil
}

func (l Letter) fill(of Link, class string) Letter {
	name := of.Name
	if name == "" {
		name = of.User
	}
	site, _, _ := strings.Cut(of.URL, "/sign-in/")
	fill := strings.NewReplacer("{name}", name, "{user}", of.User, "{site}", site, "{class}", class, "{link}", of.URL,
		"{until}", time.UnixMilli(of.Expires).UTC().Format("2006-01-02 15:04 MST"))
	return Letter{fill.Replace(l.Subject), fill.Replace(l.Text)}
}
