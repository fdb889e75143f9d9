package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/requests"
)

// shellBlock is a fenced block of a document that a reader types.
type shellBlock struct{ doc, text string }

// name is what tables call a block: its document and its first line.
func (b shellBlock) name() string {
	first, _, _ := strings.Cut(strings.TrimSpace(b.text), "\n")
	command, _, _ := strings.Cut(first, "  ")
	return b.doc + ": " + strings.TrimSpace(command)
}

// repository is where the documents are.
const repository = "../.."

var fence = regexp.MustCompile("(?ms)^ *```(?:sh|bash|console|shell)\n(.*?)^ *```")

// shellBlocks are those of all documents, in order.
func shellBlocks(t *testing.T) (all []shellBlock) {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range append([]string{filepath.Join(repository, "README.md")}, docs...) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		doc := filepath.Base(path)
		for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
			all = append(all, shellBlock{doc, found[1]})
		}
	}
	return all
}

// blockOf is the block with a name.
func blockOf(t *testing.T, name string) shellBlock {
	t.Helper()
	all := shellBlocks(t)
	i := slices.IndexFunc(all, func(b shellBlock) bool { return b.name() == name })
	require.GreaterOrEqual(t, i, 0, "no document has the block %q", name)
	return all[i]
}

// typed are the blocks that a test types as they stand, and which test does.
var typed = map[string]string{
	"README.md: make build": "TestWhatTheREADMEShowsIsTyped",
	`courses.md: drover user add --name "Tom Lee" --email tom@example.org tom`:                                  "TestATermByTheCommandLine",
	"students.md: git archive --format=zip -o hw1.zip HEAD":                                                     "TestSmallBlocksAreTyped",
	"operations.md: drover-lab simulate --list":                                                                 "TestWhatWouldHappenIsTyped of cmd/drover-lab",
	"operations.md: drover doctor":                                                                              "TestWhatOperatorsLookAtIsTyped",
	`migrate.md: echo "whsec_$(printf 'drover callback' | openssl dgst -sha256 -hmac "$KEY" -binary | base64)"`: "TestSmallBlocksAreTyped",
	"harness.md: #!/bin/sh":                                                                                     "examples TestTheHarnessOfTheGuide and its like",
}

// Reasons why nobody types a block.
const (
	otherMachine = "asks a site on another machine, with ids of its own; web/api's tests call each operation"
	needsLXC     = "installs packages, as root, and builds an image from the network; TestGradingInContainers does that with an image made by hand"
	needsIDs     = "each line has a name or id of what a reader has; TestDrainWithDeadlineAndPreview, TestWebhooksByTheCommandLine and their like have each"
	takesMinutes = "takes minutes to half an hour; TestAShortDrillLosesAndDoublesNothing of cmd/drover-lab types the shortest"
)

// excused are the blocks that no test types, and why.
var excused = map[string]string{
	"README.md: go run ./cmd/drover demo":                                                                   "is TestDemoGradesEverySubmissionAsExpected, and all tests",
	"README.md: bin/drover demo --keep":                                                                     "both stay up until Ctrl-C; TestDemoSite and TestCommandsAskASite do the same",
	"README.md: sudo apt-get install lxc lxc-dev pkg-config gcc mmdebstrap":                                 needsLXC,
	"courses.md: drover class invite --csv --days 21 cs101 > invitations.csv":                               "TestCommandsAskASite types it on a site, which the links lead to",
	"api.md: export DROVER=https://drover.example.org/api/v1":                                               otherMachine,
	`api.md: curl -H "$auth" -H "Idempotency-Key: hw1-try-3" \`:                                             otherMachine,
	`api.md: curl -H "$auth" -H "Idempotency-Key: night-17" \`:                                              otherMachine,
	`api.md: curl -H "$auth" -H "Idempotency-Key: hw1-git-1" -H "Content-Type: application/json" \`:         otherMachine,
	`api.md: curl -X POST -H "$auth" -H "Idempotency-Key: hw1-ann-1" -H "Content-Type: application/json" \`: otherMachine,
	`api.md: curl -N -H "$auth" $DROVER/requests/01m80t1yac7gk57wg5h2qzbvpk/events`:                         otherMachine,
	`api.md: curl -H "$auth" $DROVER/cluster`:                                                               otherMachine,
	`api.md: curl -i -H "$auth" $DROVER/classes/cs101/assignments/hw1`:                                      otherMachine,
	"containers.md: apt-get install lxc lxc-dev pkg-config gcc make mmdebstrap":                             needsLXC,
	"elastic.md: #!/bin/sh":                                                                  "makes machines of another program",
	"containers.md: sysctl kernel.yama.ptrace_scope=1":                                       "changes settings of the machine",
	"containers.md: export DROVER_DATA=/var/lib/drover DROVER_PROVIDER=local,lxc":            needsLXC,
	"containers.md: drover image build debian12 --suite bookworm --packages gcc,g++,python3": needsLXC,
	"containers.md: drover pool set grading --provider lxc --image debian12 --cpu 1 --memory 256M --disk 512M --pids 64 --timeout 1m --warm 4 --max 16": needsLXC,
	"containers.md: drover harness check examples/brackets/harness":                                                                                     needsLXC,
	`harness.md: drover-run --time 30s --save built -- sh -c 'gcc -O2 -o prog "$DROVER_SUBMISSION"/*.c' 2>err || fail "build error" err`:                "is a part of a harness",
	"gradescope.md: drover image build hw1 --suite bookworm --autograder autograder.zip":                                                                needsLXC,
	"languages.md: drover image build judge":                                                                                               "TestJudgeImage",
	"operations.md: drover up --data /var/lib/drover":                                                                                      "stays up; the README's block does the same",
	"operations.md: drover host set h1 --reserve-memory 4G --reserve-cpu 1":                                                                needsIDs,
	"operations.md: drover pool set training --warm 0 --warm-total 6 --spread 2":                                                           "TestWhereVMsAreMadeIsTyped",
	"operations.md: drover host drain h1 --preview":                                                                                        needsIDs,
	"operations.md: drover image build debian12 --suite bookworm --packages gcc,python3":                                                   needsLXC,
	"operations.md: drover pool set grading --provider lxc --image debian12 --cpu 1 --memory 256M --disk 512M --pids 64 --warm 4 --max 16": needsLXC,

	`leases.md: drover lease preview --name exam --class cs101 --start "2026-12-01 14:00" --for 2h --units python=30`: "reserves more than the host of a test has; TestLeaseByTheCommandLine and its like have each",

	"reliability.md: drover-lab drill": takesMinutes,

	"reliability.md: drover-lab drill --faults 1000 --seed 1000 --at-once 6 --json":   takesMinutes,
	"webhooks.md: drover webhook add --class cs101 https://grades.example.org/drover": needsIDs,
}

// A block that nobody types is excused by name, so that a new one is thought of.
func TestEveryShellBlockIsTypedOrExcused(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for _, b := range shellBlocks(t) {
		name := b.name()
		met[name] = true
		if b.doc == "redis.md" {
			continue // TestRedisDocLinesWork of core/redisstore types them all
		}
		require.True(t, typed[name] != "" || excused[name] != "", "nobody types this block: have a test do so, or say in excused why not:\n%q\n%s", name, b.text)
		require.False(t, typed[name] != "" && excused[name] != "", name)
	}
	for _, table := range []map[string]string{typed, excused} {
		for name := range table {
			require.True(t, met[name], "no document has this block any more: %s", name)
		}
	}
}

var (
	commandLine = regexp.MustCompile(`^\s*(?:sudo (?:-E )?)?(?:bin/)?drover (.*)`)
	makeLine    = regexp.MustCompile(`^\s*make ([a-z-]+)`)
	comment     = regexp.MustCompile(`(^|\s)#.*`)
	quoted      = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// Whatever is excused, each command, flag and target that a block names is there.
func TestShellBlocksNameWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, b := range shellBlocks(t) {
		for line := range strings.Lines(b.text) {
			line = comment.ReplaceAllString(quoted.ReplaceAllString(strings.TrimSpace(line), "X"), "")
			if found := commandLine.FindStringSubmatch(line); found != nil {
				require.Empty(t, strange(strings.Fields(found[1])), "%s: %s", b.doc, line)
			}
			if found := makeLine.FindStringSubmatch(line); found != nil {
				resolves(t, found[1])
			}
		}
	}
	resolves(t, "bench")
	resolves(t, "bench-jobs")
	resolves(t, "bench-check")
	resolves(t, "bench-vm")
}

// strange is the first word of a command line that names no command or flag; "" for none.
func strange(words []string) string {
	known, flags := commands(), terminal.SettingFlags()
	runs := false
	for _, word := range words {
		switch i := slices.IndexFunc(known, func(c *cli.Command) bool { return c.HasName(word) }); {
		case word == "--" || runs && !strings.HasPrefix(word, "-"):
			return ""
		case strings.HasPrefix(word, "--"):
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if !slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
				return word
			}
		case i >= 0:
			runs, flags, known = word == "run", append(flags, known[i].Flags...), known[i].Subcommands
		case len(known) > 0:
			return word
		}
	}
	return ""
}

func TestStrangeWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"run -- true": "", "user link --class cs101": "", "user lnk ann": "lnk", "user link --klass cs101": "--klass", "run --nosuch -- true": "--nosuch", "frobnicate": "frobnicate",
	} {
		require.Equal(t, want, strange(strings.Fields(line)), line)
	}
}

// resolves checks that make has a target, whose commands make can name.
func resolves(t *testing.T, target string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "make", "-n", "-C", repository, target).CombinedOutput()
	if target == "bench-vm" && strings.Contains(string(out), "no lxc-dev: provider lxc cannot be built") {
		return
	}
	require.NoError(t, err, "make -n %s: %s", target, out)
}

// desktop is a folder like a reader's: with the examples and the program, built as the README says.
func (h *testCluster) desktop() string {
	h.t.Helper()
	dir := h.t.TempDir()
	root, err := filepath.Abs(repository)
	require.NoError(h.t, err)
	for _, name := range []string{"examples", "README.md"} {
		require.NoError(h.t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	require.NoError(h.t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(h.t, os.Symlink(h.path, filepath.Join(dir, "bin", "drover")))
	return dir
}

// typesBlock runs a block as a reader's shell does, in a folder, with what comes before it.
func (h *testCluster) typesBlock(dir, before, text string) string {
	h.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		coretest.Missing(h.t, "bash", err)
	}
	cmd := exec.CommandContext(h.t.Context(), bash, "-eu", "-c", before+"\n"+text)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir}, h.env[1:]...)
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s\n%s", text, out)
	return string(out)
}

// The five minutes of the README, in a fresh folder. Only the cluster's folder is another, and
// what a reader waits for with the eyes is waited for.
func TestWhatTheREADMEShowsIsTyped(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		coretest.Missing(t, "gcc, by which an example is graded", err)
	}
	h := newTestCluster(t, append(calm, selfTested)...)
	cluster := h.cfg.Data
	h.env = slices.DeleteFunc(h.env, func(line string) bool {
		return strings.HasPrefix(line, "DROVER_REDIS=") || strings.HasPrefix(line, "DROVER_DATA=")
	})
	dir := h.desktop()
	text := strings.ReplaceAll(blockOf(t, "README.md: make build").text, "/tmp/cluster", cluster)
	text = strings.Replace(text, "make build", "make -n build -C "+repositoryPath(t)+" >/dev/null", 1)
	text = strings.Replace(text, "kill %1", "kill %1; wait", 1)
	up := regexp.MustCompile(`(?m)^bin/drover up .*$`).FindString(text)
	require.NotEmpty(t, up)
	text = strings.Replace(text, up, up+"\nuntil bin/drover host list --data "+cluster+" >/dev/null 2>&1; do kill -0 %1; sleep 0.05; done", 1)
	out := h.typesBlock(dir, "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT", text)
	require.Contains(t, out, "the cluster is up")
	require.Contains(t, out, "\nhello\n")
	h.run("vmfactory", "--destroy-vms", "--data", cluster)
}

func repositoryPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(repository)
	require.NoError(t, err)
	return path
}

// What operators look at, with the names of a cluster that has one request and one task.
func TestWhatOperatorsLookAtIsTyped(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h, up := newUpCluster(t)
	h.said("run", "--", "true")
	request := jsonOf[[]requests.View](h, "request", "list")[0].ID
	h.said("class", "add", "cs101")
	task := strings.TrimSpace(h.said("grades", "export", "--no-wait", "cs101"))
	row, err := h.cluster.Store.Get(t.Context(), request)
	require.NoError(t, err)
	names := strings.NewReplacer("request history ID", "request history "+request, "vm history VM", "vm history "+row.Result.VM,
		"history HOST", "history h1", "hits POOL", "hits default", "request show ID", "request show "+request, "request explain ID", "request explain "+request, "request replay ID", "request replay "+request, "request output ID", "request output "+request, "request files ID", "request files "+request,
		"task show ID", "task show "+task, "HOST ", "h1 ", "show POOL", "show default")
	var text strings.Builder
	for line := range strings.Lines(names.Replace(blockOf(t, "operations.md: drover doctor").text)) {
		if !strings.HasPrefix(line, "curl ") { // of components at their default ports
			text.WriteString(line)
		}
	}
	out := h.typesBlock(h.desktop(), "", text.String())
	require.Contains(t, out, request)
	require.Contains(t, out, task)
	up.stop()
	h.requireNothingLeft()
}

// What is kept warm in the whole cluster is decided by the overseer and made by the vmfactory.
func TestWhereVMsAreMadeIsTyped(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	up := h.up()
	block := "operations.md: drover pool set training --warm 0 --warm-total 6 --spread 2"
	h.typesBlock(h.desktop(), "", blockOf(t, block).text)
	h.said("pool", "set", "training", "--warm-total", "3")
	h.awaitHost("h1", func(host core.HostInfo) bool {
		return host.Targets["training"] == core.Target{Warm: 3} && host.VMsOf["training"][core.VMClean] == 3
	})
	shown := h.said("pool", "show", "training")
	for _, want := range []string{"up to 40", "30m0s", "worst-fit", "fifo"} {
		require.Contains(t, shown, want)
	}
	for _, bad := range [][]string{{"--strategy", "tight"}, {"--order", "lifo"}, {"--warm-total", "-1"}, {"--spread", "100000"}, {"--idle-after", "1s"}, {"--broken-for", "1ms"}} {
		h.refused(terminal.ExitUsage, bad[1], append([]string{"pool", "set", "training"}, bad...)...)
	}
	up.stop()
	h.requireNothingLeft()
}

func TestSmallBlocksAreTyped(t *testing.T) {
	tier.OnlyInAll(t, tier.Host)
	t.Parallel()
	h := &testCluster{t: t, path: "drover", env: []string{""}}
	for name, before := range map[string]string{
		"students.md: git archive --format=zip -o hw1.zip HEAD":                                                     "git init -q . && echo x > x && git add x && git -c user.name=a -c user.email=a@example.org commit -qm x",
		`migrate.md: echo "whsec_$(printf 'drover callback' | openssl dgst -sha256 -hmac "$KEY" -binary | base64)"`: "KEY=key",
	} {
		words := strings.Fields(before + " " + name)
		for _, program := range []string{"git", "openssl"} {
			if _, err := exec.LookPath(program); slices.Contains(words, program) && err != nil {
				coretest.Missing(t, program, err)
			}
		}
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
		out := h.typesBlock(dir, before, blockOf(t, name).text)
		if strings.HasPrefix(name, "students") {
			require.FileExists(t, filepath.Join(dir, "hw1.zip"))
		} else {
			require.True(t, strings.HasPrefix(out, "whsec_"), out)
		}
	}
}
