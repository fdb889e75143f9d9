package cmd_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// retired are words that the project used to have, each with what is said instead.
var retired = map[string]string{
	"herd": "cluster", "desk": "worker, service or backend", "classes service": "service of classes",
	"oust": "revoke", "ousted": "revoked", "entomb": "add a tombstone", "entombed": "has a tombstone",
	"unaim": "unassign", "aimed": "assigned", "bury": "declare dead", "buries": "declares dead",
	"buried": "declared dead", "burial": "declaration", "shelf": "cache", "heed": "obey", "heeds": "obeys",
	"goodbye": "deregister", "farewell": "deregister", "hungry": "what it waits for", "patience": "timeout, or what is waited for",
	"deed": "entry of the audit log", "deeds": "entries of the audit log", "trail": "audit log",
	"guest": "agent", "bootstrapper": "agent", "door": "API, or what it is", "doors": "APIs, or what they are",
	"telephone": "phone", "whoever": "a noun", "whomever": "a noun", "handin": "submit", "handins": "submissions",
}

// retiredPhrases are those of more than one word, with what is said instead.
var retiredPhrases = map[string]string{
	"proof of life": "heartbeat", "proofs of life": "heartbeats", "hand in a": "submit", "handed in": "submitted", "set aside": "quarantined",
	"for ever": "forever, or permanent", "hangs on it": "its contents, or refers to it", "throw-away": "disposable", "come clean": "be cleaned",
	"slip of the hand": "typing error",
}

// saidAnyway are files that say a retired word for a reason.
var saidAnyway = map[string][]string{
	"bootstrapper": {"docs/architecture.md"}, // what Galah calls it
	"trail":        {"docs/decisions.md"},    // what became of the packages
	"guest":        {"docs/decisions.md"},
	"door":         {"docs/decisions.md"},
}

// part is one word of a text or of a name in it: parts of camelCase, snake_case or kebab-case.
var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// tracked lists the files that git knows, from the root.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--full-name", ":/").Output()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("no git checkout to look at: %v", err)
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// plain reports whether a file is a text of ours: not a picture, a lock file, or another system's.
func plain(name string) bool {
	return !slices.Contains([]string{".png", ".svg", ".sum"}, path.Ext(name)) && path.Base(name) != "package-lock.json" &&
		!strings.HasPrefix(name, "web/compat/") && name != "cmd/words_test.go"
}

// saysWord reports whether a retired word is one of a line's.
func saysWord(line, word string) bool {
	return slices.ContainsFunc(part.FindAllString(line, -1), func(p string) bool { return strings.EqualFold(p, word) })
}

// saysPhrase reports whether the words of a retired phrase stand in a line as whole ones: "for every" is no "for ever".
func saysPhrase(line, phrase string) bool {
	return regexp.MustCompile(`(?i)\b` + phrase + `\b`).MatchString(line)
}

func TestRetiredWordsStayAway(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t) {
		if !plain(name) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet told to git
		}
		require.NoError(t, err)
		text := name + "\n" + string(raw)
		lower := strings.ToLower(text)
		look := func(retired map[string]string, says func(line, what string) bool) {
			for what, instead := range retired {
				if !strings.Contains(lower, what) || slices.Contains(saidAnyway[what], name) {
					continue
				}
				for n, line := range strings.Split(text, "\n") {
					if strings.Contains(strings.ToLower(line), what) && says(line, what) {
						t.Errorf("%s:%d: %q is retired: say %s", name, n, what, instead)
					}
				}
			}
		}
		look(retired, saysWord)
		look(retiredPhrases, saysPhrase)
	}
}
