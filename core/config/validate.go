package config

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/webhook"
)

// The smallest useful beat and poll: below them a process is busy with nothing else.
const (
	minBeat = 10 * time.Millisecond
	maxBeat = 30 * time.Second // Redis takes a heartbeat with a longer interval for one from another time
	minPoll = time.Millisecond
)

// maxSlots is far above what one process can run and far below what breaks it.
const maxSlots = 10_000

// maxSocketPath is the longest path of a unix socket, in bytes, on Linux.
const maxSocketPath = 107

// Validate returns nil, or an INVALID error that names every invalid setting.
func (c *Config) Validate() error {
	return errors.Join(c.checkURLs(), c.checkNames(), c.checkLogs(), c.checkNumbers(), c.checkTimes(), c.checkRates(), c.checkSubmits(), c.checkSite(), c.checkMail())
}

func (c *Config) checkURLs() error {
	return errors.Join(
		c.checkRedis(),
		c.checkStore(),
		c.checkURL("blobs", c.Blobs),
		c.checkListen(),
		c.checkWebhookAllow(),
	)
}

// checkURL checks a URL, and that it has one of the schemes if any are named. It quotes nothing that may hold a
// password.
func (c *Config) checkURL(name string, u URL, schemes ...string) error {
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Scheme == "" {
		return c.problem(name, "it is not a URL: %s", usageOf(name))
	}
	if len(schemes) > 0 && !slices.Contains(schemes, parsed.Scheme) {
		return c.problem(name, "it begins with %s:, not with one of %s: %s", parsed.Scheme, strings.Join(schemes, ", "), usageOf(name))
	}
	return nil
}

func (c *Config) checkWebhookAllow() error {
	if _, err := webhook.ParseAddresses(c.WebhookAllow); err != nil {
		return c.problem("webhook_allow", "%w", err)
	}
	return nil
}

func (c *Config) checkListen() error {
	for name, address := range map[string]string{"listen": c.Listen, "metrics_listen": c.MetricsListen} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return c.problem(name, "%q is not an address: write HOST:PORT, such as 127.0.0.1:9420", address)
		}
	}
	return c.checkMetricsPort()
}

// metricsRoles are the components with /healthz and /metrics, in the order of their ports.
var metricsRoles = []string{"vmfactory", "testrunner", "taskrunner", "overseer"}

func (c *Config) checkMetricsPort() error {
	if c.MetricsListen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(c.MetricsListen)
	if err != nil {
		return c.problem("metrics_listen", "%v: write it such as 127.0.0.1:9090", err)
	}
	const last = 1<<16 - 1
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > last-len(metricsRoles)+1 {
		return c.problem("metrics_listen", "%q is no first port of %d: write a number up to %d", port, len(metricsRoles), last-len(metricsRoles)+1)
	}
	return nil
}

// MetricsAddress returns where the component of a role serves /healthz and /metrics; "" for nowhere. The components
// of a host share one setting, so each role has its own port, unless that is 0: any free one.
func (c *Config) MetricsAddress(role string) string {
	host, first, err := net.SplitHostPort(c.MetricsListen)
	port, notANumber := strconv.Atoi(first)
	if err != nil || notANumber != nil {
		return c.MetricsListen
	}
	if port > 0 {
		port += max(0, slices.Index(metricsRoles, role))
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func (c *Config) checkNames() error {
	var problems []error
	check := func(name, kind, value string) {
		if err := core.CheckName(kind, value); err != nil {
			problems = append(problems, c.problem(name, "%w", err))
		}
	}
	check("namespace", "namespace", c.Namespace)
	check("host", "host", c.Host)
	for _, list := range []struct {
		setting, what string
		names         []string
	}{{"provider", "provider", c.Provider}, {"pools", "pool", c.Pools}} {
		for i, name := range list.names {
			check(list.setting, list.what, name)
			if slices.Contains(list.names[:i], name) {
				problems = append(problems, c.problem(list.setting, "%s is named twice", name))
			}
		}
		if len(list.names) == 0 {
			problems = append(problems, c.problem(list.setting, "it names no %s", list.what))
		}
	}
	problems = append(problems, c.checkMonitors())
	if !slices.Contains([]string{SelfTestOn, SelfTestWarn, SelfTestOff}, c.SelfTest) {
		problems = append(problems, c.problem("self_test", "%q is none: use on, warn or off", c.SelfTest))
	}
	return errors.Join(problems...)
}

func (c *Config) checkLogs() error {
	var problems []error
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) {
		problems = append(problems, c.problem("log_level", "%q is no level: use debug, info, warn or error", c.LogLevel))
	}
	if c.LogFormat != LogText && c.LogFormat != LogJSON {
		problems = append(problems, c.problem("log_format", "%q is no format: use text or json", c.LogFormat))
	}
	return errors.Join(problems...)
}

func (c *Config) checkNumbers() error {
	var problems []error
	for _, n := range []struct {
		name       string
		got        int64
		least, top int64
	}{
		{"max_waiting", int64(c.MaxWaiting), 1, 1e9},
		{"max_waiting_bytes", int64(c.MaxWaitingBytes), core.MaxSpecBytes, 1 << 50},
		{"live_output", int64(c.LiveOutput), 1 << 20, 1 << 50},
		{"submit_bytes", int64(c.SubmitBytes), 0, 64 << 30},
		{"max_attempts", int64(c.MaxAttempts), 1, 100},
		{"max_deaths", int64(c.MaxDeaths), 0, 100},
		{"slots", int64(c.Slots), 1, maxSlots},
		{"cache_bytes", int64(c.CacheBytes), 0, 1 << 50},
		{"max_vms", int64(c.MaxVMs), 0, core.MaxPoolVMs},
	} {
		if n.got < n.least || n.got > n.top {
			problems = append(problems, c.problem(n.name, "%d must be between %d and %d", n.got, n.least, n.top))
		}
	}
	return errors.Join(problems...)
}

func (c *Config) checkTimes() error {
	var problems []error
	atLeast := func(name string, got, least time.Duration, why string) {
		if got < least {
			problems = append(problems, c.problem(name, "%s must be at least %s%s", got, least, why))
		}
	}
	atLeast("beat", c.Beat, minBeat, "")
	if c.Beat > maxBeat {
		problems = append(problems, c.problem("beat", "%s must be at most %s", c.Beat, maxBeat))
	}
	atLeast("poll", c.Poll, minPoll, "")
	atLeast("suspect", c.Suspect, c.Beat, ", the beat: a heartbeat must have time to arrive")
	atLeast("down", c.Down, c.Suspect, ", the limit of suspect: a host is suspect before it is down")
	atLeast("drain", c.Drain, 0, "")
	atLeast("check_every", c.CheckEvery, minBeat, "")
	atLeast("reconcile_every", c.ReconcileEvery, minBeat, "")
	atLeast("create_timeout", c.CreateTimeout, minBeat, "")
	atLeast("destroy_timeout", c.DestroyTimeout, minBeat, "")
	atLeast("lease_lead", c.LeaseLead, 0, "")
	atLeast("lease_healing", c.LeaseHealing, 0, "")
	atLeast("lease_cleaning", c.LeaseCleaning, 0, "")
	atLeast("lease_longest", c.LeaseLongest, 0, "")
	atLeast("leases_every", c.LeasesEvery, 100*time.Millisecond, "")
	atLeast("consistency_every", c.ConsistencyEvery, time.Second, ": it reads all that Redis holds")
	atLeast("keep_finished", c.KeepFinished, time.Minute, "")
	atLeast("keep_downloads", c.KeepDownloads, time.Minute, ": people need time to fetch them")
	atLeast("keep_history", c.KeepHistory, 24*time.Hour, "")
	atLeast("keep_tombstones", c.KeepTombstones, 10*time.Minute, ": a retry must find what it repeats")
	return errors.Join(problems...)
}

func usageOf(name string) string {
	for _, s := range Settings() {
		if s.Name == name {
			return s.Usage
		}
	}
	return ""
}
