package redisstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

// Keys as they are: changing one changes the stored data.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := redisstore.Space("drover")
	for want, got := range map[string]string{
		"drover:meta":                         s.Key("meta"),
		"drover:owners":                       s.Key("owners"),
		"drover:owner:testrunner@h1#0":        s.Key("owner", "testrunner@h1#0"),
		"drover:slots:testrunner@h1#0":        s.Key("slots", "testrunner@h1#0"),
		"drover:owners:on:h1":                 s.Key("owners_on", "h1"),
		"drover:held":                         s.Key("held"),
		"drover:suspects":                     s.Key("suspects"),
		"drover:hosts":                        s.Key("hosts"),
		"drover:host:h1":                      s.Key("host", "h1"),
		"drover:pools":                        s.Key("pools"),
		"drover:pool:p1":                      s.Key("pool", "p1"),
		"drover:turns:p1:high":                s.Key("turns", "p1", "high"),
		"drover:due":                          s.Key("due"),
		"drover:running":                      s.Key("running"),
		"drover:queue:p1:high:ann":            s.Key("queue", "p1", "high", "ann"),
		"drover:assigned:h1:p1":               s.Key("assigned", "h1", "p1"),
		"drover:parked:p1":                    s.Key("parked", "p1"),
		"drover:apart:p1":                     s.Key("apart", "p1"),
		"drover:hands":                        s.Key("hands"),
		"drover:later":                        s.Key("later"),
		"drover:deaths":                       s.Key("deaths"),
		"drover:promises:p1":                  s.Key("promises", "p1"),
		"drover:waits":                        s.Key("waits"),
		"drover:shun":                         s.Key("shun"),
		"drover:evacuations":                  s.Key("evacuations"),
		"drover:evacuated":                    s.Key("evacuated"),
		"drover:reports":                      s.Key("reports"),
		"drover:specs":                        s.Key("specs"),
		"drover:counts":                       s.Key("counts"),
		"drover:attempts":                     s.Key("attempts"),
		"drover:cancels":                      s.Key("cancels"),
		"drover:dead":                         s.Key("dead"),
		"drover:tombstones":                   s.Key("tombstones"),
		"drover:tombstones:old":               s.Key("tombstones_old"),
		"drover:idle:p1":                      s.Key("idle", "p1"),
		"drover:vms:h1":                       s.Key("vms", "h1"),
		"drover:vms:h1:p1:clean":              s.Key("clean", "h1", "p1"),
		"drover:vms:h1:dirty":                 s.Key("dirty", "h1"),
		"drover:vms:h1:quarantined":           s.Key("quarantined", "h1"),
		"drover:tasks":                        s.Key("tasks"),
		"drover:tasks:kinds:low":              s.Key("tasks_kinds", "low"),
		"drover:tasks:lanes:low:purge":        s.Key("tasks_lanes", "low", "purge"),
		"drover:tasks:queue:low:purge:ann":    s.Key("tasks_queue", "low", "purge", "ann"),
		"drover:tasks:hand:purge":             s.Key("tasks_hand", "purge"),
		"drover:tasks:rates":                  s.Key("tasks_rates"),
		"drover:tasks:arrivals":               s.Key("tasks_arrivals"),
		"drover:tasks:progress":               s.Key("tasks_progress"),
		"drover:tasks:paused":                 s.Key("tasks_paused"),
		"drover:tasks:later":                  s.Key("tasks_later"),
		"drover:tasks:bell":                   s.Key("tasks_bell"),
		"drover:placement:bell":               s.Key("placement_bell"),
		"drover:epochs":                       s.Key("epochs"),
		"drover:events":                       s.Key("events"),
		"drover:output:a-1:7.1":               s.Key("output", "a-1", "7.1"),
		"drover:outputs":                      s.Key("outputs"),
		"drover:outputs:of:ann":               s.Key("outputs_of", "ann"),
		"drover:outputs:sizes":                s.Key("outputs_sizes"),
		"drover:outputs:sums":                 s.Key("outputs_sums"),
		"drover:bell:h1":                      s.Key("bell", "h1"),
		"drover:bell:h1:vmfactory":            s.Key("factory_bell", "h1"),
		"drover:rate:sign-in:ab":              s.Key("rate", "sign-in", "ab"),
		"drover:web:session:ab":               s.Key("web_session", "ab"),
		"drover:cache:fields:ab":              s.Key("cache", "fields", "ab"),
		"drover:notice:testrunner@h1#0":       s.Key("notice", "testrunner@h1#0"),
		"drover:vms:tasks:dirty:clean":        s.Key("clean", "tasks", "dirty"),
		"drover:owner:vmfactory@vmfactory#10": s.Key("owner", "vmfactory@vmfactory#10"),
	} {
		require.Equal(t, want, got)
	}
	require.Len(t, redisstore.Keys(), 64, "the list above names each")
}

// Another key, type or record is another schema: a program that finds a sorted set where it keeps
// a set breaks off in the middle of a finish.
func TestSchemaGrowsWithTheKeys(t *testing.T) {
	t.Parallel()
	digest := sha256.New()
	for _, k := range redisstore.Keys() {
		fmt.Fprintln(digest, k.Pattern, k.Type)
	}
	for _, r := range redisstore.Records() {
		fmt.Fprintln(digest, r.Name, r.Parts)
	}
	require.Equal(t, "6b6ae5b599bd1e0a", hex.EncodeToString(digest.Sum(nil))[:16],
		"the keys are not those of schema %d: if programs of both cannot share a namespace, raise it", redisstore.Schema)
	require.Equal(t, 14, redisstore.Schema)
}

func TestKeysRefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	s := redisstore.Space("drover")
	require.Panics(t, func() { s.Key("nosuch") })
	require.Panics(t, func() { s.Key("owner") })
	require.Panics(t, func() { s.Key("meta", "x") })
}

// No two keys are one, whatever names hosts, pools and submitters have.
func TestKeysDoNotCollide(t *testing.T) {
	t.Parallel()
	words := []string{"a", "tasks", "vms", "dirty", "clean", "quarantined", "bell", "vmfactory", "queue", "later", "high"}
	seen := make(map[string]string)
	for _, k := range redisstore.Keys() {
		n := strings.Count(k.Pattern, "<")
		args := make([]string, n)
		var fill func(i int)
		fill = func(i int) {
			if i == n {
				key := redisstore.Space("drover").Key(k.Name, args...)
				require.Empty(t, seen[key], "%s is both %s and %s", key, seen[key], k.Name)
				seen[key] = k.Name
				return
			}
			for _, w := range words {
				args[i] = w
				fill(i + 1)
			}
		}
		fill(0)
	}
}

// Scripts build the same keys as Go does.
func TestLuaKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, want string }{
		{"redis.call('GET', K.meta)", "redis.call('GET', (P..'meta'))"},
		{"K.queue(pool, line, submitter)", "(P..'queue:'..pool..':'..line..':'..submitter)"},
		{"{ K.factory_bell(host), K.meta }", "{ (P..'bell:'..host..':vmfactory'), (P..'meta') }"},
		{"K.turns(pool, 'high-soon')", "(P..'turns:'..pool..':'..'high-soon')"},
		{"K.slots(its.owner or role_of(a, ')'))", "(P..'slots:'..(its.owner or role_of(a, ')')))"},
		{"K.vms(R.canary(K.meta).key)", "(P..'vms:'..(R_canary((P..'meta')).key))"},
	} {
		require.Equal(t, c.want, redisstore.Named(c.source))
	}
	for _, source := range []string{"K.queue(pool)", "K.slots(a, b)", "f(K.slots)"} {
		require.Panics(t, func() { redisstore.Named(source) }, source)
	}
	for _, k := range redisstore.Keys() {
		args := make([]string, strings.Count(k.Pattern, "<"))
		for i := range args {
			args[i] = fmt.Sprintf("'%d'", i)
		}
		call := "K." + k.Name
		if len(args) > 0 {
			call += "(" + strings.Join(args, ", ") + ")"
		}
		unquoted := strings.NewReplacer("'", "", "..", "", "(P", "t:", ")", "").Replace(redisstore.Named(call))
		plain := strings.Split(strings.ReplaceAll(strings.Join(args, ","), "'", ""), ",")
		require.Equal(t, redisstore.Space("t").Key(k.Name, plain[:len(args)]...), unquoted)
	}
}

// What builds a key and what reads it agree, of every key there is.
func TestKeysAreRecognised(t *testing.T) {
	t.Parallel()
	for _, k := range redisstore.Keys() {
		args := make([]string, strings.Count(k.Pattern, "<"))
		for i := range args {
			args[i] = fmt.Sprint("arg", i)
		}
		key := strings.TrimPrefix(redisstore.Space("t").Key(k.Name, args...), "t:")
		def, got := redisstore.Classify(key)
		require.Equal(t, k, def)
		require.ElementsMatch(t, args, got)
		if len(args) > 0 {
			def, _ = redisstore.Classify(strings.Replace(key, "arg0", "", 1))
			require.Empty(t, def.Name, "no argument is empty")
		}
		def, _ = redisstore.Classify("x" + key)
		require.Empty(t, def.Name)
	}
}
