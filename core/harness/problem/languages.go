package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"drover/core/harness/languages"
)

// The files of a harness folder that this package writes, beside cases.yaml.
const (
	buildFile    = "drover-build"
	validateFile = "drover-validate"
	converseFile = "drover-converse"
	verdictFile  = "drover-verdict"
	includeDir   = "drover-include"
	validatorDir = "drover-validator"

	interactorDir = "drover-interactor" // where the validator is another program

	toldFile   = "drover-program" // beside a submission whose language or entry point the package says: one a line
	toldSuffix = ".told"
)

// buildScript returns a shell script that finds the language of the programs in a folder, its first argument, and makes
// an executable file run there. A second argument allows a build script of the folder's own.
func buildScript(only []string) string {
	return filesScript(only) + mainScript + commandsScript(only)
}

// filesScript finds the files of the language, with what the package includes.
func filesScript(only []string) string {
	var b strings.Builder
	b.WriteString(`#!/bin/sh
# Finds out in which language the program of a folder is, and makes an executable file "run" there.
cd "${1:-.}" || exit 1
if [ -n "$2" ] && [ -f build ]; then
	sh ./build && [ -f run ] && chmod +x run
	exit
fi
rm -rf run
language= entry=
if [ -f ` + toldFile + ` ]; then
	{
		read -r language
		read -r entry
	} <` + toldFile + `
fi
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
	b.WriteString("\t\t\tesac\n")
	for _, l := range chosen(only) {
		if l.Lines != "" { // any of the files may have such a line
			fmt.Fprintf(&b, "\t\t\tcase $suffix in %s) ! grep -Eqs '%s' ./*.\"$suffix\" || found=%s ;; esac\n", strings.Join(l.Suffixes, "|"), l.Lines, l.Code)
		}
	}
	b.WriteString(`			if [ "${language:-$found}" = "$found" ]; then
				language=$found
				set -- "$@" "$file"
			fi
		done
	done
	# A language that was told may have files with suffixes of others.
	[ -z "$language" ] || [ "$#" -gt 0 ] || for file in ./*; do
		case $file in ./run | ./drover-*) continue ;; esac
		[ ! -f "$file" ] || set -- "$@" "$file"
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
`)
	return b.String()
}

// mainScript finds what starts.
const mainScript = `main=$1
for file in "$@"; do
	case $file in ./main.* | ./Main.* | ./__main__.*) main=$file ;; esac
done
[ "$language" != java ] || for file in "$@"; do
	[ "$#" -eq 1 ] || grep -q 'static *void *main' "$file" && main=$file && break
done
class=${main%.*} class=${class#./}
[ -z "$entry" ] || class=$entry
[ -z "$entry" ] || for file in "$@"; do
	case $file in
	"./$entry") main=$file class=${entry%.*} ;;
	"./$entry".*) main=$file ;;
	esac
done
`

// commandsScript builds, and writes how to start.
func commandsScript(only []string) string {
	var b strings.Builder
	b.WriteString("case $language in\n")
	for _, l := range chosen(only) {
		build := cmp.Or(strings.ReplaceAll(l.Build, "$options", l.Options), ":")
		fmt.Fprintf(&b, "%s)\n\t%s || exit 1\n\tstart='exec %s \"$@\"'\n\t;;\n", l.Code, build, l.Run)
	}
	b.WriteString(`*)
	echo "programs in $language are not for this problem" >&2
	exit 1
	;;
esac
cat >run <<END
#!/bin/sh
here=\${0%/*} main='$main' class='$class'
$start
END
chmod +x run
entry=${main#./}
[ "$language" != java ] || entry=$class
printf '%s\n' "$language" "$entry" >` + languageFile + `
`)
	return b.String()
}

// known reports whether a file with this suffix is of a language in the table.
func known(ext string) bool {
	_, ok := languages.Of([]string{ext})
	return ok
}

// chosen are the languages of these names, or all; only those that files tell by their suffixes.
func chosen(only []string) []languages.Language {
	return slices.DeleteFunc(languages.All(), func(l languages.Language) bool {
		return len(l.Suffixes) == 0 || len(only) > 0 && !slices.Contains(only, l.Code)
	})
}

func suffixes(only []string) string {
	var all []string
	for _, l := range chosen(only) {
		for _, suffix := range l.Suffixes {
			if !slices.Contains(all, suffix) {
				all = append(all, suffix)
			}
		}
	}
	return strings.Join(all, " ")
}
