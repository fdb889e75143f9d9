package config

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// redisSchemes are what a Redis URL may begin with.
var redisSchemes = []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"}

// sentinelPassword is the parameter of a URL of Sentinels that holds their password.
const sentinelPassword = "sentinel_password"

// readPasswords puts the passwords in files into the URLs of Redis, the result store and the mail server.
func (c *Config) readPasswords() error {
	return errors.Join(
		c.readPassword(&c.Redis, "redis_password_file", c.RedisPasswordFile, URL.withPassword, "redis",
			"the Redis URL (from %s) has a password too, or cannot be read: keep one of the two"),
		c.readPassword(&c.Redis, "sentinel_password_file", c.SentinelPasswordFile, URL.withSentinelPassword, "redis",
			"the Redis URL (from %s) has "+sentinelPassword+" too, or names no Sentinels: write redis+sentinel://…"),
		c.readPassword(&c.Store, "store_password_file", c.StorePasswordFile, URL.withStorePassword, "store",
			"the store URL (from %s) has a password too, or is not of the form mongodb://USER@HOST…: keep one of the two, or name the user there"),
		c.readPassword(&c.SMTP, "smtp_password_file", c.SMTPPasswordFile, URL.withMailPassword, "smtp",
			"the URL of the mail server (from %s) has a password too, or names no user: write smtp://USER@HOST"),
	)
}

// readPassword puts one of them in. otherwise says why it may not be, after where the URL, set by
// the setting of, is from.
func (c *Config) readPassword(into *URL, name, path string, put func(URL, string) (URL, bool), of, otherwise string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return c.problem(name, "%w: name a file that this user may read", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return c.problem(name, "%s is empty: write the password into it", path)
	}
	whole, ok := put(*into, password)
	if !ok {
		return c.problem(name, otherwise, c.Source(of))
	}
	*into = whole
	return nil
}

// withPassword puts the server's password into a URL that has none.
func (u URL) withPassword(password string) (URL, bool) {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return u, false
	}
	if _, has := parsed.User.Password(); has {
		return u, false
	}
	parsed.User = url.UserPassword(parsed.User.Username(), password)
	return URL(parsed.String()), true
}

// withSentinelPassword puts the Sentinels' password into a URL of some that has none.
func (u URL) withSentinelPassword(password string) (URL, bool) {
	parsed, err := url.Parse(string(u))
	if err != nil || !strings.HasSuffix(parsed.Scheme, "+sentinel") {
		return u, false
	}
	query := parsed.Query()
	if query.Has(sentinelPassword) {
		return u, false
	}
	query.Set(sentinelPassword, password)
	parsed.RawQuery = query.Encode()
	return URL(parsed.String()), true
}

// lacksPassword reports whether a URL has a user and no password. Clients of Redis then sign in as nobody.
func lacksPassword(user *url.Userinfo) bool {
	password, _ := user.Password()
	return user.Username() != "" && password == ""
}

// checkRedis checks what the kind of URL requires: Sentinels need the name of the primary, a socket a path
// that Linux accepts.
func (c *Config) checkRedis() error {
	const setting = "redis"
	if err := c.checkURL(setting, c.Redis, redisSchemes...); err != nil {
		return err
	}
	parsed, err := url.Parse(string(c.Redis))
	if err != nil {
		return c.problem(setting, "it is not a URL: %s", usageOf(setting))
	}
	_, kind, _ := strings.Cut(parsed.Scheme, "+")
	query := parsed.Query()
	switch {
	case lacksPassword(parsed.User):
		return c.problem(setting, "it names the user %s and no password, and Redis would take the connection for one of its user default: "+
			"write the password into a file and name that with redis_password_file, or leave the user away", parsed.User.Username())
	case query.Has("sentinel_username") && !query.Has(sentinelPassword):
		return c.problem(setting, "it has sentinel_username and no password of the Sentinels: name the file of it with sentinel_password_file")
	case parsed.Scheme == "unix" && len(parsed.Path) > maxSocketPath:
		return c.problem(setting, "the socket's path %s is longer than the %d bytes that Linux allows: choose a shorter --data", parsed.Path, maxSocketPath)
	case kind != "" && parsed.Hostname() == "":
		return c.problem(setting, "it names no host: write redis+%s://HOST:PORT…", kind)
	case kind == "sentinel" && query.Get("master_name") == "":
		return c.problem(setting, "it does not say what the Sentinels call the primary: add ?master_name=NAME, as in their sentinel.conf")
	case kind == "sentinel" && (query.Has("username") || query.Has("password")):
		return c.problem(setting, "the server's user stands in front of the host (USER@HOST), and its password in redis_password_file")
	}
	return nil
}
