package config

import (
	"net/url"
	"strings"
)

// storeSchemes are what the URL of a result store may begin with.
var storeSchemes = []string{"sqlite", "mongodb", "mongodb+srv"}

// mongoURL is a URL of MongoDB in parts. It may name several hosts, or a socket as one, so
// net/url cannot read it.
type mongoURL struct {
	scheme, user, password string
	hasPassword            bool
	rest                   string // hosts, database and options
}

// mongo parses a URL of MongoDB. Returns false for another one.
func (u URL) mongo() (mongoURL, bool) {
	scheme, rest, _ := strings.Cut(string(u), "://")
	if scheme != "mongodb" && scheme != "mongodb+srv" {
		return mongoURL{}, false
	}
	// The last "@" before the database ends the password, even if somebody forgot to escape one.
	end := strings.IndexAny(rest, "?")
	if end < 0 {
		end = len(rest)
	}
	m := mongoURL{scheme: scheme, rest: rest}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		m.user, m.rest = rest[:at], rest[at+1:]
		m.user, m.password, m.hasPassword = strings.Cut(m.user, ":")
	}
	return m, true
}

func (m mongoURL) String() string {
	user := m.user
	if m.hasPassword {
		user += ":" + m.password
	}
	if user != "" {
		user += "@"
	}
	return m.scheme + "://" + user + m.rest
}

// redacted returns the URL without its password.
func (m mongoURL) redacted() string {
	if m.hasPassword {
		m.password = hidden
	}
	place, options, has := strings.Cut(m.rest, "?")
	if !has {
		return m.String()
	}
	all := strings.Split(options, "&")
	for i, option := range all {
		if name, _, _ := strings.Cut(option, "="); secretWord(name) {
			all[i] = name + "=" + hidden
		}
	}
	m.rest = place + "?" + strings.Join(all, "&")
	return m.String()
}

// withStorePassword puts the user's password into a URL of MongoDB that has none.
func (u URL) withStorePassword(password string) (URL, bool) {
	m, is := u.mongo()
	if !is || m.user == "" || m.hasPassword {
		return u, false
	}
	m.password, m.hasPassword = strings.ReplaceAll(url.QueryEscape(password), "+", "%20"), true
	return URL(m.String()), true
}

// checkStore wants a URL of a result store.
func (c *Config) checkStore() error {
	m, is := c.Store.mongo()
	if !is {
		return c.checkURL("store", c.Store, storeSchemes...)
	}
	if hosts, _, _ := strings.Cut(m.rest, "/"); hosts == "" || strings.HasPrefix(hosts, "?") {
		return c.problem("store", "it names no host: %s", usageOf("store"))
	}
	return nil
}
