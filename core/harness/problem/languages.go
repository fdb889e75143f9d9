package problem

import (
	"fmt"
	"slices"
	"strings"
)

// language is how programs in one language are built and run. Build and Run are commands of a shell script: $main is
// the file to start, of the files $@; Build leaves what Run needs.
type language struct {
	Code       string   // the format's name
	Also       []string // other names of it
	Suffixes   []string
	Build, Run string
}

// languages is the table: a language is one line. The first whose suffix a file has is the submission's.
var languages = []language{
	{"cpp", []string{"c++"}, []string{"cc", "cpp", "cxx", "c++", "C"}, `g++ -std=gnu++20 -O2 -o program "$@"`, `exec "$here/program" "$@"`},
	{"c", nil, []string{"c"}, `gcc -std=gnu17 -O2 -o program "$@" -lm`, `exec "$here/program" "$@"`},
	{"python3", []string{"python", "python2"}, []string{"py", "py3"}, `python3 -m py_compile "$@"`, `exec python3 -B "$here/$main" "$@"`},
	{"java", nil, []string{"java"}, `javac -encoding UTF-8 -J-Xmx256m -d . "$@"`, `exec java -XX:+UseSerialGC -Xss64m -cp "$here" "$class" "$@"`},
	{"go", nil, []string{"go"}, `GOCACHE="$PWD/.cache" GO111MODULE=off CGO_ENABLED=0 go build -o program "$@" && rm -rf .cache`, `exec "$here/program" "$@"`},
	{"rust", nil, []string{"rs"}, `rustc -O -o program "$main"`, `exec "$here/program" "$@"`},
	{"javascript", []string{"js"}, []string{"js", "mjs"}, `node --check "$main"`, `exec node "$here/$main" "$@"`},
}

// The files of a harness folder that this package writes, beside cases.yaml.
const (
	buildFile    = "drover-build"
	validateFile = "drover-validate"
	includeDir   = "drover-include"
	validatorDir = "drover-validator"
)

// buildScript returns a shell script that finds the language of the programs in a folder, its first argument, and makes
// an executable file run there. A second argument allows a build script of the folder's own.
func buildScript(only []string) string {
	var b strings.Builder
	b.WriteString(`#!/bin/sh
# Finds out in which language the program of a folder is, and makes an executable file "run" there.
cd "${1:-.}" || exit 1
if [ -n "$2" ] && [ -f build ]; then
	sh ./build && [ -f run ] && chmod +x run
	exit
fi
rm -rf run
language=
for pass in language programs; do
	set --
	for suffix in ` + suffixes(only) + `; do
		for file in ./*."$suffix"; do
			[ -f "$file" ] || continue
			case $suffix in
`)
	for _, l := range chosen(only) {
		fmt.Fprintf(&b, "\t\t\t%s) found=%s ;;\n", strings.Join(l.Suffixes, "|"), l.Code)
	}
	b.WriteString(`			esac
			if [ "${language:-$found}" = "$found" ]; then
				language=$found
				set -- "$@" "$file"
			fi
		done
	done
	if [ -z "$language" ]; then
		echo "no file here has the suffix of a language: ` + suffixes(only) + `" >&2
		exit 1
	fi
	# What the package includes is built, too.
	[ "$pass" != language ] || for more in ` + includeDir + `/default "` + includeDir + `/$language"; do
		[ ! -d "$more" ] || cp -R "$more/." . || exit 1
	done
done
main=$1
for file in "$@"; do
	case $file in ./main.* | ./Main.* | ./__main__.*) main=$file ;; esac
done
[ "$language" != java ] || for file in "$@"; do
	[ "$#" -eq 1 ] || grep -q 'static *void *main' "$file" && main=$file && break
done
class=${main%.*} class=${class#./}
case $language in
`)
	for _, l := range chosen(only) {
		fmt.Fprintf(&b, "%s)\n\t%s || exit 1\n\tstart='%s'\n\t;;\n", l.Code, l.Build, l.Run)
	}
	b.WriteString(`esac
cat >run <<END
#!/bin/sh
here=\${0%/*} main='$main' class='$class'
$start
END
chmod +x run
`)
	return b.String()
}

// known reports whether a file with this suffix is of a language in the table.
func known(ext string) bool {
	return slices.ContainsFunc(languages, func(l language) bool { return slices.Contains(l.Suffixes, strings.TrimPrefix(ext, ".")) })
}

// chosen are the languages of these names, or all.
func chosen(only []string) []language {
	if len(only) == 0 {
		return languages
	}
	return slices.DeleteFunc(slices.Clone(languages), func(l language) bool { return !slices.Contains(only, l.Code) })
}

func suffixes(only []string) string {
	var all []string
	for _, l := range chosen(only) {
		all = append(all, l.Suffixes...)
	}
	return strings.Join(all, " ")
}
