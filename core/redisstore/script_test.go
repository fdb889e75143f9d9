package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// headerParts are the parts of a script's header after its first sentences, in order.
var headerParts = []string{"ARGV", "RETURN", "REFUSE", "MOVES", "REPEAT"}

var headerLine = regexp.MustCompile(`^-- ([A-Z]{4,6})  +(\S.*)$`)

// header reads the comment that a script begins with: "" is its first sentences.
func header(t *testing.T, name string) (parts map[string]string, order []string) {
	t.Helper()
	parts = make(map[string]string)
	at := ""
	for line := range strings.Lines(redisstore.ReadLua(name)) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "--") {
			break
		}
		if m := headerLine.FindStringSubmatch(line); m != nil {
			at = m[1]
			order = append(order, at)
			parts[at] = m[2]
			continue
		}
		parts[at] = strings.TrimSpace(parts[at] + " " + strings.TrimSpace(strings.TrimPrefix(line, "--")))
	}
	return parts, order
}

func TestScriptHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range redisstore.ScriptNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, order := header(t, name)
			assert.Equal(t, headerParts, order)
			assert.Regexp(t, `^[A-Z].*[.]$`, parts[""], "a script begins with what it does")
			declared := make(map[string]bool)
			for _, m := range regexp.MustCompile(`(?:^|[ ,])(\d+) [a-z]`).FindAllStringSubmatch(parts["ARGV"], -1) {
				declared[m[1]] = true
			}
			for _, m := range regexp.MustCompile(`ARGV\[(\d+)`).FindAllStringSubmatch(redisstore.ReadLua(name), -1) {
				n, err := strconv.Atoi(m[1])
				require.NoError(t, err)
				assert.True(t, declared[m[1]] || n > len(declared), "ARGV[%d] is not in the header", n)
			}
		})
	}
}

// bodies returns a script and the library functions it reaches, by file, but those that it
// reaches by way of some.
func bodies(name string, but ...string) map[string]string {
	out := map[string]string{name: redisstore.ReadLua(name)}
	for grew := true; grew; {
		grew = false
		for _, body := range out {
			for word := range redisstore.CallsOf(body) {
				file := "lib/" + word
				if slices.Contains(redisstore.Library, word) && !slices.Contains(but, word) && out[file] == "" {
					out[file], grew = redisstore.ReadLua(file), true
				}
			}
		}
	}
	return out
}

func TestScriptRefusals(t *testing.T) {
	t.Parallel()
	known := []core.Code{
		core.CodeInvalid, core.CodeNotFound, core.CodeConflict, core.CodeFull, core.CodeFenced,
		core.CodeStale, core.CodeBusy, core.CodeVersion, core.CodeEnded,
	}
	for _, name := range redisstore.ScriptNames() {
		parts, _ := header(t, name)
		var declared, used []string
		if parts["REFUSE"] != "-" {
			declared = strings.Fields(parts["REFUSE"])
		}
		for _, body := range bodies(name) {
			for _, m := range regexp.MustCompile(`fail\('([A-Z]+)'`).FindAllStringSubmatch(body, -1) {
				if !slices.Contains(used, m[1]) {
					used = append(used, m[1])
				}
			}
			assert.NotContains(t, strings.Replace(body, "return redis.error_reply(code .. ' ' .. detail)", "", 1), "error_reply",
				"%s refuses past fail", name)
		}
		assert.ElementsMatch(t, declared, used, "REFUSE of %s", name)
		for _, word := range declared {
			assert.Contains(t, known, core.Code(word), "REFUSE of %s", name)
			err := redisstore.Fault(context.Background(), proto(word+" thing"), "id")
			assert.Equal(t, core.Code(word), core.CodeOf(err), "the Go side does not know the refusal")
			assert.Contains(t, err.Error(), "thing")
		}
	}
}

// proto is an answer of Redis that refuses.
type proto string

func (p proto) Error() string { return string(p) }
func (proto) RedisError()     {}

// moves reads a MOVES line: "request queued→claimed, →x; vm clean→claimed".
func moves(t *testing.T, name string) []string {
	t.Helper()
	parts, _ := header(t, name)
	if parts["MOVES"] == "-" {
		return nil
	}
	var out []string
	for group := range strings.SplitSeq(parts["MOVES"], ";") {
		entity, list, ok := strings.Cut(strings.TrimSpace(group), " ")
		require.True(t, ok, "MOVES of %s", name)
		for move := range strings.SplitSeq(list, ",") {
			move = strings.TrimSpace(move)
			require.Regexp(t, `^[a-z_]*→[a-z_]+$`, move, "MOVES of %s", name)
			out = append(out, entity+" "+move)
		}
	}
	return out
}

func TestScriptMovesAreTheTable(t *testing.T) {
	t.Parallel()
	declared := make(map[string][]string)
	for _, name := range redisstore.ScriptNames() {
		for _, m := range moves(t, name) {
			declared[m] = append(declared[m], name)
		}
	}
	seen := make(map[string]bool)
	for _, tr := range core.Transitions() {
		move := fmt.Sprintf("%s %s→%s", tr.Entity, tr.From, tr.To)
		assert.False(t, seen[move], "the table has %s twice", move)
		seen[move] = true
		assert.NotEmpty(t, tr.Why, move)
		assert.ElementsMatch(t, tr.By, declared[move], "who makes %s: the table against the scripts' headers", move)
	}
	for move, by := range declared {
		assert.True(t, seen[move], "%v makes %s, which the table does not have", by, move)
	}
}

// libraryMoves are moves that some library functions make, in every script that calls them.
var libraryMoves = map[string][]string{
	"assign":        {"evacuation →scheduled"},
	"unassign":      {"evacuation scheduled→failed"},
	"lose":          {"vm clean→lost", "vm dirty→lost", "vm quarantined→lost"},
	"unpause_task":  {"task delayed→"},
	"dequeue_tasks": {"task queued→running", "task queued→cancelling"},
	"tasks_apart":   {"task queued→delayed"},
	"dequeue":       {"request queued→claimed", "request parked→claimed", "vm clean→claimed", "evacuation scheduled→accepted", "evacuation parked→accepted"},
}

// A script declares what the library moves for it, also where no model sees it. What settle
// moves is another thing for each role of its caller.
func TestScriptsDeclareTheMovesOfTheLibrary(t *testing.T) {
	t.Parallel()
	used := make(map[string]bool)
	for _, name := range redisstore.ScriptNames() {
		declared := moves(t, name)
		for file := range bodies(name, "settle") {
			for _, move := range libraryMoves[strings.TrimPrefix(file, "lib/")] {
				used[strings.TrimPrefix(file, "lib/")] = true
				assert.True(t, slices.ContainsFunc(declared, func(its string) bool {
					return its == move || strings.HasSuffix(move, "→") && strings.HasPrefix(its, move)
				}), "%s reaches %s, and its MOVES lack %s", name, file, move)
			}
		}
	}
	assert.Len(t, used, len(libraryMoves), "no script reaches some of them")
}

// luaGlobals are what a script may name without making it.
var luaGlobals = map[string]bool{
	"KEYS": true, "ARGV": true, "redis": true, "string": true, "table": true, "math": true,
	"tonumber": true, "tostring": true, "ipairs": true, "pairs": true, "next": true, "select": true, "unpack": true,
}

func TestScriptsCompileWithoutStrayGlobals(t *testing.T) {
	t.Parallel()
	for _, name := range redisstore.ScriptNames() {
		text := redisstore.Assemble(name)
		chunk, err := parse.Parse(strings.NewReader(text), name)
		require.NoError(t, err, name)
		compiled, err := lua.Compile(chunk, name)
		require.NoError(t, err, name)
		strayGlobals(t, name, compiled)
		for _, word := range []string{"goto ", "cmsgpack", "struct.", "bit.", "os.", "cjson", "loadstring"} {
			assert.NotContains(t, text, word, "%s: not on both servers, or not alike", name)
		}
	}
}

func strayGlobals(t *testing.T, name string, p *lua.FunctionProto) {
	t.Helper()
	for _, code := range p.Code {
		constant := code & 0x3ffff // gopher-lua: opcode in the upper 6 bits, Bx in the lower 18
		switch int(code >> 26) {
		case lua.OP_GETGLOBAL:
			word := p.Constants[constant].String()
			assert.True(t, luaGlobals[word], "%s uses the global %q", name, word)
		case lua.OP_SETGLOBAL:
			t.Errorf("%s makes the global %q", name, p.Constants[constant])
		}
	}
	for _, inner := range p.FunctionPrototypes {
		strayGlobals(t, name, inner)
	}
}

func TestScriptsParseAsLua51(t *testing.T) {
	t.Parallel()
	luac, err := exec.LookPath("luac5.1")
	if err != nil {
		coretest.Missing(t, "luac5.1", err)
	}
	dir := t.TempDir()
	for _, name := range redisstore.ScriptNames() {
		file := filepath.Join(dir, name+".lua")
		require.NoError(t, os.WriteFile(file, []byte(redisstore.Assemble(name)), 0o600))
		out, err := exec.CommandContext(t.Context(), luac, "-p", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
}

func TestScriptsLoad(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		for _, name := range redisstore.ScriptNames() {
			require.NoError(t, b.Admin.ScriptLoad(t.Context(), redisstore.Assemble(name)).Err(), name)
		}
	})
}

// An error of a script names its line: it is the line of the file.
func TestAssembledLinesAreTheFiles(t *testing.T) {
	t.Parallel()
	for _, name := range redisstore.ScriptNames() {
		file := strings.Split(redisstore.ReadLua(name), "\n")
		text := strings.Split(redisstore.Assemble(name), "\n")
		require.Len(t, text, len(file), name)
		for i, line := range file {
			if i > 0 && !strings.HasPrefix(strings.TrimSpace(line), "--") {
				require.Equal(t, redisstore.Named(line), text[i], "%s:%d", name, i+1)
			}
		}
	}
}

func TestLuaFilesStaySmallAndPlain(t *testing.T) {
	t.Parallel()
	files := slices.Clone(redisstore.ScriptNames())
	for _, name := range redisstore.Library {
		files = append(files, "lib/"+name)
	}
	for _, name := range files {
		body := redisstore.ReadLua(name)
		lines := strings.Split(body, "\n")
		assert.LessOrEqual(t, len(lines), 151, "%s is too long", name)
		assert.Regexp(t, `^-- [A-Z]`, lines[0], "%s says first what it is for", name)
		for i, line := range lines {
			assert.LessOrEqual(t, len(line), 120, "%s:%d", name, i+1)
			code, _, comment := strings.Cut(line, "--")
			assert.False(t, comment && strings.TrimSpace(code) != "", "%s:%d: a comment stands on a line of its own", name, i+1)
			assert.NotRegexp(t, `'[^']*\s\s[^']*'`, code, "%s:%d: shared lines are joined by single spaces", name, i+1)
		}
		if stem, shared := strings.CutPrefix(name, "lib/"); shared {
			assert.Contains(t, body, "\nlocal function "+stem+"(", "a library file holds the function of its name")
		}
	}
}

var redisCall = regexp.MustCompile(`redis\.call\(\s*('[A-Z]+'|push)`)

// Redis 7.0 is the oldest server that is supported.
func TestScriptsUseCommandsOfRedis70(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	used := make(map[string]string)
	for _, name := range redisstore.ScriptNames() {
		text := redisstore.Assemble(name)
		assert.Len(t, redisCall.FindAllString(text, -1), strings.Count(text, "redis.call("), "%s calls a command by a name that is not written out", name)
		assert.NotContains(t, text, "pcall", name)
		for _, m := range redisCall.FindAllStringSubmatch(text, -1) {
			used[strings.ToLower(strings.Trim(m[1], "'"))] = name
		}
	}
	delete(used, "push") // enqueue's own choice of LPUSH and RPUSH
	for command, name := range used {
		docs, err := b.Admin.Do(t.Context(), "COMMAND", "DOCS", command).Result()
		require.NoError(t, err)
		since, ok := commandSince(docs)
		require.True(t, ok, "%s uses %s, which this server does not have", name, command)
		major, err := strconv.Atoi(strings.SplitN(since, ".", 2)[0])
		require.NoError(t, err)
		assert.True(t, major < 7 || strings.HasPrefix(since, "7.0."), "%s uses %s, new in %s", name, command, since)
	}
}

func commandSince(docs any) (string, bool) {
	byName, ok := docs.(map[any]any)
	if !ok {
		return "", false
	}
	for _, doc := range byName {
		fields, ok := doc.(map[any]any)
		if !ok {
			return "", false
		}
		since, ok := fields["since"].(string)
		return since, ok
	}
	return "", false
}

var _ redis.Error = proto("")
