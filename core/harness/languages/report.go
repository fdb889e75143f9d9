package languages

import (
	"fmt"
	"strings"
	"unicode"

	"drover/core"
)

// Report returns a script for the shell of a system, which prints a line for each language that is there: code and what
// the language says of its version, with a tab between. Hello of each needed language is built and run as well, and the
// script fails if one does not print what it should.
func Report(needed []Language) string {
	var b strings.Builder
	b.WriteString(`set -u
export HOME=/tmp LC_ALL=C.UTF-8
work=$(mktemp -d /tmp/languages.XXXXXX) || exit 1
failed=
hello() { # CODE SOURCE BUILD RUN, with the program on the standard input
	mkdir "$work/$1" && cd "$work/$1" && cat >"$2" && sh -c "${3:-:}" >said 2>&1 </dev/null &&
		[ "$(sh -c "$4" 2>>said </dev/null)" = hello ] && return
	echo "E: hello in $1 does not work here: $(head -c 500 said)" >&2
	failed=yes
}
version() { # CODE COMMAND
	text=$(cd "$work" && sh -c "$2" 2>&1 </dev/null) && printf '%s\t%s\n' "$1" "$(printf %s "$text" | tr '\n\t' '  ' | head -c 200)"
}
`)
	for i := range table {
		l := &table[i]
		fmt.Fprintf(&b, "version %s %s || :\n", l.Code, quote(l.Version))
	}
	for i := range needed {
		l := &needed[i]
		fmt.Fprintf(&b, "hello %s %s %s %s <<'END'\n%s\nEND\n", l.Code, l.Source, quote(l.Single(l.Build, l.Options)), quote(l.Single(l.Run, "")), l.Hello)
	}
	b.WriteString("cd /\nrm -rf \"$work\"\n[ -z \"$failed\" ]\n")
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Bounds on what a system says of its languages, which may be anything.
const (
	maxReport  = 64 << 10
	maxVersion = 40
)

// ParseReport reads what Report printed. Lines of other languages and without a version are left out.
func ParseReport(text string) []core.ImageLanguage {
	seen := map[string]bool{}
	var all []core.ImageLanguage
	for line := range strings.Lines(text[:min(len(text), maxReport)]) {
		code, said, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if l, ok := Find(code); ok && l.Code == code && !seen[code] {
			if v := version(said); v != "" {
				seen[code] = true
				all = append(all, core.ImageLanguage{Code: code, Name: l.Name, Version: v})
			}
		}
	}
	return all
}

// version finds the first number with dots in a text, or else the first number.
func version(text string) string {
	first := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r != '.' && (r < '0' || r > '9') }) {
		word = strings.Trim(word, ".")
		if word == "" || len(word) > maxVersion {
			continue
		}
		if strings.Contains(word, ".") {
			return word
		}
		if first == "" {
			first = word
		}
	}
	return first
}
