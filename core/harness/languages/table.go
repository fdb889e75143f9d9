package languages

// table is the one table of languages: an entry is a language, and needs nothing else anywhere. Where two have a suffix,
// the first is meant. TestTable checks it, TestHello runs Hello of those that this machine has.
var table = []Language{
	{
		Code: "cpp", Name: "C++ (GCC)", Also: []string{"c++"}, Suffixes: []string{"cc", "cpp", "cxx", "c++", "C"}, Packages: []string{"g++"},
		Version: `g++ -dumpfullversion`, Options: `-std=gnu++20 -O2`, Build: `g++ $options -o program "$@"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.cpp", Judge0: []int{52, 53, 54}, Hello: "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }",
	},
	{
		Code: "c", Name: "C (GCC)", Suffixes: []string{"c"}, Packages: []string{"gcc"},
		Version: `gcc -dumpfullversion`, Options: `-std=gnu17 -O2`, Build: `gcc $options -o program "$@" -lm`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.c", Judge0: []int{48, 49, 50}, Hello: "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }",
	},
	{
		Code: "python3", Name: "Python", Also: []string{"python", "python2"}, Suffixes: []string{"py", "py3"}, Packages: []string{"python3"},
		Version: `python3 --version`, Build: `python3 -m py_compile "$@"`, Run: `python3 -B "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.py", Judge0: []int{71}, Hello: `print("hello")`,
	},
	{
		Code: "java", Name: "Java (OpenJDK)", Suffixes: []string{"java"}, Packages: []string{"default-jdk-headless"},
		Version: `javac -version`, Options: `-encoding UTF-8 -J-Xmx256m`, Build: `javac $options -d . "$@"`,
		Run: `java -XX:+UseSerialGC -Xss64m -cp "$here" "$class"`, Time: 2, Memory: 2,
		Source: "Main.java", Judge0: []int{62}, Hello: `public class Main { public static void main(String[] args) { System.out.println("hello"); } }`,
	},
	{
		Code: "go", Name: "Go", Suffixes: []string{"go"}, Packages: []string{"golang-go"},
		Version: `go version`, Build: `GOCACHE="$PWD/.cache" GO111MODULE=off CGO_ENABLED=0 go build $options -o program "$@" && rm -rf .cache`,
		Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.go", Judge0: []int{60}, Hello: "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }",
	},
	{
		Code: "rust", Name: "Rust", Suffixes: []string{"rs"}, Packages: []string{"rustc"},
		Version: `rustc --version`, Options: `-O`, Build: `rustc $options -o program "$main"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.rs", Judge0: []int{73}, Hello: `fn main() { println!("hello"); }`,
	},
	{
		Code: "javascript", Name: "JavaScript (Node.js)", Also: []string{"js"}, Suffixes: []string{"js", "mjs"}, Packages: []string{"nodejs"},
		Version: `node --version`, Build: `node --check "$main"`, Run: `node "$here/$main"`, Time: 2, Memory: 2,
		Source: "script.js", Judge0: []int{63}, Hello: `console.log("hello")`,
	},
	{
		Code: "pypy3", Name: "Python (PyPy)", Also: []string{"pypy"}, Suffixes: []string{"pypy", "pypy3"}, Packages: []string{"pypy3"},
		Version: `pypy3 -c 'import sys; print("%d.%d.%d" % sys.pypy_version_info[:3])'`, Run: `pypy3 -B "$here/$main"`, Time: 2, Memory: 2,
		Source: "script.pypy3", Hello: `print("hello")`,
	},
	{
		Code: "clang", Name: "C (Clang)", Packages: []string{"clang"},
		Version: `clang -dumpversion`, Options: `-std=gnu17 -O2`, Build: `clang $options -o program "$@" -lm`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.c", Judge0: []int{75}, Hello: "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }",
	},
	{
		Code: "clangpp", Name: "C++ (Clang)", Packages: []string{"clang", "libstdc++-12-dev"},
		Version: `clang++ -dumpversion`, Options: `-std=gnu++20 -O2`, Build: `clang++ $options -o program "$@"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.cpp", Judge0: []int{76}, Hello: "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }",
	},
	{
		Code: "ada", Name: "Ada (GNAT)", Suffixes: []string{"adb", "ads"}, Packages: []string{"gnat"},
		Version: `gnatmake --version`, Options: `-O2`, Build: `gnatmake -q $options -o program "$main"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.adb", Hello: "with Ada.Text_IO;\nprocedure Main is begin Ada.Text_IO.Put_Line(\"hello\"); end Main;",
	},
	{
		Code: "awk", Name: "AWK (gawk)", Also: []string{"gawk"}, Suffixes: []string{"awk"}, Packages: []string{"gawk"},
		Version: `gawk --version`, Run: `gawk -f "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.awk", Hello: `BEGIN { print "hello" }`,
	},
	{
		Code: "bash", Name: "Bash", Also: []string{"sh"}, Suffixes: []string{"sh", "bash"}, Packages: []string{"bash"},
		Version: `bash --version`, Build: `bash -n "$main"`, Run: `bash "$here/$main"`, Time: 5, Memory: 1,
		Source: "script.sh", Judge0: []int{46}, Hello: `echo hello`,
	},
	{
		Code: "clojure", Name: "Clojure", Suffixes: []string{"clj"}, Packages: []string{"clojure", "default-jdk-headless"},
		Version: `clojure -e '(println (clojure-version))'`, Run: `clojure "$here/$main"`, Time: 5, Memory: 3,
		Source: "main.clj", Judge0: []int{86}, Hello: `(println "hello")`,
	},
	{
		Code: "cobol", Name: "COBOL (GnuCOBOL)", Suffixes: []string{"cob", "cbl"}, Packages: []string{"gnucobol4"},
		Version: `cobc --version`, Build: `cobc -x -free $options -o program "$main"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.cob", Judge0: []int{77}, Hello: "identification division.\nprogram-id. hello.\nprocedure division.\ndisplay \"hello\".\nstop run.",
	},
	{
		Code: "csharp", Name: "C# (Mono)", Also: []string{"c#"}, Suffixes: []string{"cs"}, Packages: []string{"mono-mcs", "mono-runtime", "libmono-system-numerics4.0-cil"},
		Version: `mcs --version && mono --version`, Options: `-optimize+ -r:System.Numerics.dll`, Build: `mcs $options -out:program.exe "$@"`, Run: `mono "$here/program.exe"`, Time: 2, Memory: 2,
		Source: "Main.cs", Judge0: []int{51}, Hello: `class P { static void Main() { System.Console.WriteLine("hello"); } }`,
	},
	{
		Code: "d", Name: "D (GDC)", Suffixes: []string{"d"}, Packages: []string{"gdc"},
		Version: `gdc -dumpfullversion`, Options: `-O2`, Build: `gdc $options -o program "$@"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.d", Judge0: []int{56}, Hello: `import std.stdio; void main() { writeln("hello"); }`,
	},
	{
		Code: "elixir", Name: "Elixir", Suffixes: []string{"exs", "ex"}, Packages: []string{"elixir"},
		Version: `elixir -e 'IO.puts(System.version())'`, Run: `elixir "$here/$main"`, Time: 3, Memory: 2,
		Source: "script.exs", Judge0: []int{57}, Hello: `IO.puts("hello")`,
	},
	{
		Code: "erlang", Name: "Erlang", Suffixes: []string{"erl", "escript"}, Packages: []string{"erlang-base"},
		Version: `erl -noshell -eval 'io:fwrite("~s~n", [erlang:system_info(otp_release)]), halt().'`, Run: `escript "$here/$main"`, Time: 3, Memory: 2,
		Source: "main.erl", Judge0: []int{58}, Hello: "#!/usr/bin/env escript\nmain(_) -> io:fwrite(\"hello~n\").",
	},
	{
		Code: "fortran", Name: "Fortran (GFortran)", Also: []string{"f90"}, Suffixes: []string{"f90", "f95", "f"}, Packages: []string{"gfortran"},
		Version: `gfortran -dumpfullversion`, Options: `-O2`, Build: `gfortran $options -o program "$@"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.f90", Judge0: []int{59}, Hello: "program main\nprint '(a)', 'hello'\nend program",
	},
	{
		Code: "groovy", Name: "Groovy", Suffixes: []string{"groovy"}, Packages: []string{"groovy", "default-jdk-headless"},
		Version: `groovy --version`, Run: `groovy "$here/$main"`, Time: 5, Memory: 3,
		Source: "script.groovy", Judge0: []int{88}, Hello: `println "hello"`,
	},
	{
		Code: "haskell", Name: "Haskell (GHC)", Suffixes: []string{"hs"}, Packages: []string{"ghc"},
		Version: `ghc --numeric-version`, Options: `-O2`, Build: `ghc -v0 $options -o program "$main"`, Run: `"$here/program"`, Time: 2, Memory: 2,
		Source: "main.hs", Judge0: []int{61}, Hello: `main = putStrLn "hello"`,
	},
	{
		Code: "kotlin", Name: "Kotlin", Suffixes: []string{"kt"}, Packages: []string{"kotlin", "default-jdk-headless"},
		Version: `kotlinc -version`, Build: `kotlinc $options -include-runtime -d program.jar "$@"`,
		Run: `java -XX:+UseSerialGC -Xss64m -jar "$here/program.jar"`, Time: 2, Memory: 2,
		Source: "Main.kt", Judge0: []int{78}, Hello: `fun main() { println("hello") }`,
	},
	{
		Code: "lisp", Name: "Common Lisp (SBCL)", Also: []string{"commonlisp"}, Suffixes: []string{"lisp", "cl"}, Packages: []string{"sbcl"},
		Version: `sbcl --version`, Run: `sbcl --script "$here/$main"`, Time: 2, Memory: 2,
		Source: "script.lisp", Judge0: []int{55}, Hello: `(write-line "hello")`,
	},
	{
		Code: "lua", Name: "Lua", Suffixes: []string{"lua"}, Packages: []string{"lua5.4"},
		Version: `lua -v`, Run: `lua "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.lua", Judge0: []int{64}, Hello: `print("hello")`,
	},
	{
		Code: "nasm", Name: "Assembly (NASM)", Suffixes: []string{"asm"}, Packages: []string{"nasm", "binutils"},
		Version: `nasm -v`, Build: `nasm -f elf64 $options -o main.o "$main" && ld -o program main.o`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.asm", Judge0: []int{45},
		Hello: "global _start\n_start: mov eax, 1\nmov edi, 1\nlea rsi, [rel m]\nmov edx, 6\nsyscall\nmov eax, 60\nxor edi, edi\nsyscall\nm: db \"hello\", 10",
	},
	{
		Code: "nim", Name: "Nim", Suffixes: []string{"nim"}, Packages: []string{"nim"},
		Version: `nim --version`, Options: `-d:release`, Build: `nim compile --hints:off --nimcache:.cache $options -o:program "$main" && rm -rf .cache`,
		Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.nim", Hello: `echo "hello"`,
	},
	{
		Code: "objectivec", Name: "Objective-C (GCC)", Suffixes: []string{"m"}, Packages: []string{"gobjc"},
		Version: `gcc -dumpfullversion && echo '@class X;' | gcc -x objective-c -fsyntax-only -`, Options: `-O2`,
		Build: `gcc $options -o program "$@" -lobjc -lm`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.m", Judge0: []int{79}, Hello: "#import <stdio.h>\n@interface X @end\n@implementation X @end\nint main(void) { puts(\"hello\"); return 0; }",
	},
	{
		Code: "ocaml", Name: "OCaml", Suffixes: []string{"ml"}, Packages: []string{"ocaml"},
		Version: `ocamlopt -version`, Build: `ocamlopt -I +unix -I +str unix.cmxa str.cmxa $options -o program "$@"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.ml", Judge0: []int{65}, Hello: `print_endline "hello"`,
	},
	{
		Code: "octave", Name: "Octave", Packages: []string{"octave"},
		Version: `octave-cli --version`, Run: `octave-cli -q --no-gui --no-history "$here/$main"`, Time: 5, Memory: 3,
		Source: "script.m", Judge0: []int{66}, Hello: `disp("hello")`,
	},
	{
		Code: "pascal", Name: "Pascal (FPC)", Suffixes: []string{"pas"}, Packages: []string{"fp-compiler"},
		Version: `fpc -iV`, Options: `-O2`, Build: `fpc -v0 $options -oprogram "$main"`, Run: `"$here/program"`, Time: 1, Memory: 1,
		Source: "main.pas", Judge0: []int{67}, Hello: `begin writeln('hello') end.`,
	},
	{
		Code: "perl", Name: "Perl", Suffixes: []string{"pl", "pm"}, Packages: []string{"perl"},
		Version: `perl -e 'printf "%vd\n", $^V'`, Build: `perl -c "$main"`, Run: `perl "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.pl", Judge0: []int{85}, Hello: `print "hello\n";`,
	},
	{
		Code: "php", Name: "PHP", Suffixes: []string{"php"}, Packages: []string{"php-cli"},
		Version: `php --version`, Build: `php -l "$main"`, Run: `php "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.php", Judge0: []int{68}, Hello: `<?php echo "hello\n";`,
	},
	{
		Code: "prolog", Name: "Prolog (SWI-Prolog)", Suffixes: []string{"pro", "prolog", "pl"}, Lines: `^:-|:-[[:space:]]*$`, Packages: []string{"swi-prolog-nox"},
		Version: `swipl --version`, Build: `swipl -q -g main -t halt -o program -c "$@"`, Run: `"$here/program"`, Time: 3, Memory: 2,
		Source: "main.pro", Judge0: []int{69}, Hello: `main :- write(hello), nl.`,
	},
	{
		Code: "r", Name: "R", Suffixes: []string{"r", "R"}, Packages: []string{"r-base-core"},
		Version: `R --version`, Run: `Rscript "$here/$main"`, Time: 5, Memory: 2,
		Source: "script.r", Judge0: []int{80}, Hello: `cat("hello\n")`,
	},
	{
		Code: "racket", Name: "Racket", Suffixes: []string{"rkt"}, Packages: []string{"racket"},
		Version: `racket --version`, Run: `racket "$here/$main"`, Time: 3, Memory: 2,
		Source: "main.rkt", Hello: "#lang racket/base\n(displayln \"hello\")",
	},
	{
		Code: "ruby", Name: "Ruby", Suffixes: []string{"rb"}, Packages: []string{"ruby"},
		Version: `ruby --version`, Build: `ruby -c "$main"`, Run: `ruby "$here/$main"`, Time: 3, Memory: 1,
		Source: "script.rb", Judge0: []int{72}, Hello: `puts "hello"`,
	},
	{
		Code: "scala", Name: "Scala", Suffixes: []string{"scala"}, Packages: []string{"scala", "default-jdk-headless"},
		Version: `scala -version`, Build: `scalac $options -d . "$@"`, Run: `scala -cp "$here" "$class"`, Time: 3, Memory: 3,
		Source: "Main.scala", Judge0: []int{81}, Hello: `object Main { def main(args: Array[String]): Unit = println("hello") }`,
	},
	{
		Code: "scheme", Name: "Scheme (Guile)", Suffixes: []string{"scm"}, Packages: []string{"guile-3.0"},
		Version: `guile --version`, Run: `guile --no-auto-compile "$here/$main"`, Time: 3, Memory: 1,
		Source: "main.scm", Hello: `(display "hello") (newline)`,
	},
	{
		Code: "sqlite", Name: "SQL (SQLite)", Also: []string{"sql"}, Suffixes: []string{"sql"}, Packages: []string{"sqlite3"},
		Version: `sqlite3 --version`, Run: `sqlite3 db.sqlite <"$here/$main"`, Time: 1, Memory: 1,
		Source: "script.sql", Judge0: []int{82}, Hello: `select 'hello';`,
	},
	{
		Code: "tcl", Name: "Tcl", Suffixes: []string{"tcl"}, Packages: []string{"tcl"},
		Version: `echo 'puts [info patchlevel]' | tclsh`, Run: `tclsh "$here/$main"`, Time: 5, Memory: 1,
		Source: "script.tcl", Hello: `puts hello`,
	},
	{
		Code: "typescript", Name: "TypeScript", Also: []string{"ts"}, Suffixes: []string{"ts"}, Packages: []string{"node-typescript", "nodejs"},
		Version: `tsc --version`, Options: `--target es2020 --module commonjs`, Build: `tsc $options "$main"`,
		Run: `node "$here/$class.js"`, Time: 2, Memory: 2,
		Source: "script.ts", Judge0: []int{74}, Hello: `const word: string = "hello"; console.log(word)`,
	},
}
