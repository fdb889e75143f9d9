// Package cmd_test holds the rules of the source tree as tests: who may import
// whom, what may stand at the top, how long a file may be. They read the source
// itself, so no build tag hides a file from them.
package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

const (
	module   = "drover"
	root     = ".."
	maxLines = 500 // of a Go file that is no test
)

// components never import one another: they meet in Redis. A suite of tests may bring them together.
var components = []string{"testrunner", "vmfactory", "taskrunner", "overseer", "web"}

// adapters each tie core to one technology. They never import one another.
var adapters = []string{"core/redisstore", "core/store", "core/blobs", "core/agent", "core/cloud"}

// rule says that only some folders may import a package and what lies below it.
type rule struct {
	what  string   // import path
	only  []string // folders, with what lies below them
	tests bool     // any test may as well
	why   string
}

var rules = []rule{
	{"github.com/redis/go-redis", []string{"core/redisstore", "core/coretest", "cmd"}, true, "programs speak core's interfaces; a test may look behind them"},
	{"github.com/alicebob/miniredis", []string{"core/coretest", "cmd"}, true, "it stands in for Redis in tests and in an embedded cluster"},
	{"modernc.org/sqlite", []string{"core/store"}, false, "the result store is an interface"},
	{"go.mongodb.org", []string{"core/store"}, false, "the result store is an interface"},
	{"github.com/minio/minio-go", []string{"core/blobs"}, false, "the blob store is an interface"},
	{"github.com/aws", []string{"cmd/drover-cloud-ec2"}, false, "drover asks a program for machines; EC2's is one"},
	{module + "/core/cloud", []string{"core/cloud", "overseer", "cmd"}, false, "overseers make machines; who decides how many is core/cluster/scale, which asks nobody"},
	{"github.com/google/go-containerregistry", []string{"core/images/oci"}, false, "the rest of drover knows one form of image, its own"},
	{"github.com/klauspost/compress", []string{"core/images", "web"}, false, "how images are packed is written down once; what goes to browsers and comes from them is another matter"},
	{"regexp", []string{"core/service/pattern", "core/harness/cases"}, true, "core/service/pattern compiles an expression once it is used, not at each start; harnesses bring their own"},
	{"github.com/urfave/cli", []string{"cmd"}, false, "flags are made in one place"},
	{"github.com/knadh/koanf", []string{"core/config"}, false, "settings are read in one place"},
	{"github.com/sirupsen/logrus", slices.Concat([]string{"cmd"}, components), true, "core returns errors, components log"},
	{"github.com/lxc/go-lxc", []string{"vmfactory/lxc"}, false, "containers are one provider among others"},
	{module + "/vmfactory/fake", []string{"vmfactory/fake"}, true, "a fake is for tests"},
	{module + "/core/classes", []string{"core/classes", "taskrunner", "web", "cmd"}, true, "the cluster does not know the school"},
	{module + "/core/school", []string{"core/school", "core/classes", "core/account", "core/harness", "core/store", "core/coretest", "taskrunner", "web", "cmd"}, true, "the cluster does not know the school's words either"},
	{module + "/core/redisstore/redisserver", []string{"core/redisstore/redisserver", "core/coretest", "cmd/drover-lab"}, true, "the shipped program starts no servers to hurt"},
	{module + "/cmd/drover-lab", []string{"cmd/drover-lab"}, false, "the shipped program carries no fault injector"},
	{module + "/cmd", []string{"cmd"}, false, "nothing is above cmd"},
}

// topLevel is everything that may stand at the top. A newcomer reads this list first.
var topLevel = []string{
	"cmd", "core", "testrunner", "vmfactory", "taskrunner", "overseer", "web", "scripts", "docs", "examples", ".ci",
	"go.mod", "go.sum", "supervisord.conf", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
	".gitignore", ".gitattributes", ".editorconfig", ".golangci.yml", ".luacheckrc",
}

// source is one Go file of the module.
type source struct {
	folder, path string // from the root, with slashes
	test         bool
	syntax       *ast.File
	lines        int
}

// readSources reads the tree once for all tests.
var readSources = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && foreign(file, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		files := token.NewFileSet()
		syntax, err := parser.ParseFile(files, file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		all = append(all, source{
			folder: path.Dir(rel), path: rel, test: strings.HasSuffix(rel, "_test.go"), syntax: syntax,
			lines: strings.Count(string(text), "\n"),
		})
		return nil
	})
	return all, err
})

func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// foreign reports whether a folder is no part of the module.
func foreign(dir, name string) bool {
	if strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func (s source) imports() []string {
	var all []string
	for _, spec := range s.syntax.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, name)
		}
	}
	return all
}

// under reports whether a slash-separated name is parent or lies below it.
func under(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

func underAny(name string, parents []string) bool {
	return slices.ContainsFunc(parents, func(p string) bool { return under(name, p) })
}

// local returns an import's folder if it is in this module.
func local(name string) (string, bool) {
	return strings.CutPrefix(name, module+"/")
}

func TestOnlySomeMayImport(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, name := range s.imports() {
			for _, r := range rules {
				if under(name, r.what) && !underAny(s.folder, r.only) && (!s.test || !r.tests) {
					t.Errorf("%s imports %s, which is for %v only: %s", s.path, name, r.only, r.why)
				}
			}
		}
	}
}

// suite reports whether a folder holds tests for others to run: coretest, providertest and
// what is in them. selftest is no test of ours: hosts run it.
func suite(folder string) bool {
	return slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool {
		return strings.HasSuffix(part, "test") && part != "selftest"
	})
}

func TestProgramsCarryNoTestCode(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, name := range s.imports() {
			folder, ours := local(name)
			if (name == "testing" || ours && suite(folder)) && !s.test && !suite(s.folder) {
				t.Errorf("%s imports %s: only tests and the suites in folders called …test do", s.path, name)
			}
		}
	}
}

func TestImportDirection(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, name := range s.imports() {
			folder, ours := local(name)
			if s.folder == "core" && !s.test && (ours || strings.Contains(strings.Split(name, "/")[0], ".")) {
				t.Errorf("%s imports %s: core uses the standard library only", s.path, name)
			}
			if !ours {
				continue
			}
			if under(s.folder, "core") && !under(folder, "core") {
				t.Errorf("%s imports %s: core knows no component", s.path, name)
			}
			for _, strangers := range [][]string{components, adapters} {
				for _, one := range strangers {
					if !suite(s.folder) && under(s.folder, one) && underAny(folder, strangers) && !under(folder, one) {
						t.Errorf("%s imports %s: these two never import one another", s.path, name)
					}
				}
			}
		}
	}
}

// TestRulesNameWhatExists keeps the rules from guarding a folder that was moved.
func TestRulesNameWhatExists(t *testing.T) {
	t.Parallel()
	folders, imported := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		for dir := s.folder; dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
		for _, name := range s.imports() {
			for _, r := range rules {
				imported[r.what] = imported[r.what] || under(name, r.what)
			}
		}
	}
	exists := func(dir string) {
		_, err := os.Stat(filepath.Join(root, dir, "go.mod")) // a nested module
		if !folders[dir] && err != nil {
			t.Errorf("the rules name the folder %s, which has no Go files", dir)
		}
	}
	for _, dir := range slices.Concat(components, adapters) {
		exists(dir)
	}
	for _, r := range rules {
		for _, dir := range r.only {
			exists(dir)
		}
		if dir, ours := local(r.what); ours {
			exists(dir)
		} else if len(r.only) > 0 && !imported[r.what] {
			t.Errorf("the rules name %s, which nothing imports", r.what)
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	comments, seen := map[string][]string{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		seen[s.folder] = true
		if s.syntax.Doc != nil {
			comments[s.folder] = append(comments[s.folder], s.path)
		}
	}
	for folder := range seen {
		if found := comments[folder]; len(found) != 1 {
			t.Errorf("package %s needs exactly one package comment, it has %d: %v", folder, len(found), found)
		}
	}
}

func TestFilesAndNames(t *testing.T) {
	t.Parallel()
	vague := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "info", "shared", "base", "lib"}
	for _, s := range sources(t) {
		if !s.test && s.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by subject", s.path, s.lines, maxLines)
		}
		stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		for _, name := range []string{path.Base(s.folder), s.syntax.Name.Name, stem} {
			if slices.Contains(vague, name) {
				t.Errorf("%s: %q says nothing; name it after its subject", s.path, name)
			}
		}
	}
}

func TestTopLevelIsFixed(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t) {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(topLevel, top) {
			t.Errorf("%s stands at the top, which is fixed: put it into a folder that exists", top)
		}
	}
}

// TestPackagesOfCore holds the folders below core against the table of docs/architecture.md.
func TestPackagesOfCore(t *testing.T) {
	t.Parallel()
	const most = 17
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n## Packages of core\n")
	require.True(t, found, "docs/architecture.md lists the packages of core")
	table, _, _ = strings.Cut(table, "\n## ")
	var told, there []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(core/[a-z]+)` \\| \\S").FindAllStringSubmatch(table, -1) {
		told = append(told, row[1])
	}
	for _, s := range sources(t) {
		if folders := strings.Split(s.folder, "/"); len(folders) > 1 && folders[0] == "core" {
			there = append(there, "core/"+folders[1])
		}
	}
	slices.Sort(there)
	require.ElementsMatch(t, slices.Compact(there), told, "each package has a line of purpose")
	require.LessOrEqual(t, len(told), most, "find the package in which it belongs")
}

// An interface is what somebody needs, not what somebody has: the whole of a result store is
// named where it is made and handed on.
func TestWhoUsesAStoreAsksForAPart(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || suite(s.folder) || underAny(s.folder, []string{"core/store", "cmd"}) || s.path == "core/store.go" || s.path == "core/school/store.go" || s.path == "taskrunner/runner.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		require.NoError(t, err)
		if strings.Contains(string(text), ".ResultStore") {
			t.Errorf("%s asks for a whole ResultStore: say what it needs of it", s.path)
		}
	}
}

// writers are who gives records to the result store. The store takes what they say: each calls the record's
// Check first, where something in it came from outside, or puts back what was there with a change of its own.
var writers = map[string][]string{
	"AddComment":       {"core/classes/comment.go"},
	"AddAuditEntry":    {"core/account/auditlog/log.go", "taskrunner/webhook.go"},
	"AddIdentity":      {"core/account/identity.go", "core/account/platform.go"},
	"AddToken":         {"core/account/invitation.go", "core/account/link.go", "core/account/reset.go", "core/account/token.go"},
	"Create":           {"core/requests/intake/batch.go", "core/requests/intake/submit.go"},
	"CreateBatch":      {"core/requests/intake/batch.go"},
	"CreateSubmission": {"core/classes/submit.go"},
	"CreateTask":       {"core/requests/intake/task.go"},
	"EndTask":          {"core/cluster/recovery/task.go", "core/requests/intake/task_stop.go", "taskrunner/work.go"},
	"Enrol":            {"core/classes/gradebook.go", "core/classes/roster.go"},
	"FailTask":         {"core/cluster/recovery/task.go", "taskrunner/work.go"},
	"PutAccount":       {"core/account/password.go", "core/account/service.go"},
	"PutAssignment":    {"core/classes/assignment.go", "core/classes/decide.go", "core/classes/harness.go"},
	"PutClass":         {"core/classes/class.go"},
	"PutDeadline":      {"core/classes/deadline.go"},
	"PutExperiment":    {"core/classes/decide.go", "core/classes/experiment.go", "taskrunner/deletion.go", "taskrunner/experiment.go"},
	"PutHostWish":      {"cmd/drover-lab/drill/faults.go", "cmd/drover-lab/drill/room.go", "core/cluster/join/redeem.go", "core/cluster/operate/host.go", "core/cluster/reclaim/reclaim.go", "overseer/wishes.go"},
	"PutImage":         {"core/images/keep.go"},
	"PutJobType":       {"core/requests/jobtype.go"},
	"PutJoinToken":     {"core/cluster/join/redeem.go", "core/cluster/join/service.go"},
	"PutLTI":           {"core/classes/lti/records.go"},
	"PutPool":          {"core/requests/intake/intake.go"},
	"PutRosterImport":  {"core/classes/import.go", "core/classes/undo.go"},
	"PutSchedule":      {"core/classes/schedule.go", "overseer/schedules.go"},
	"PutUser":          {"core/account/bootstrap.go", "core/classes/user.go"},
	"PutWebhook":       {"core/classes/webhook.go", "taskrunner/webhook.go"},
	"SetGrade":         {"core/classes/grade.go"},
}

// TestRecordsAreCheckedBeforeTheyAreStored finds every call that gives the store a record.
func TestRecordsAreCheckedBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?:[sS]tore|Images)\.(` + strings.Join(slices.Sorted(maps.Keys(writers)), "|") + `)\(`)
	found := map[string][]string{}
	for _, s := range sources(t) {
		if s.test || suite(s.folder) || under(s.folder, "core/store") || under(s.folder, "core/coretest") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.path))
		require.NoError(t, err)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(found[m[1]], s.path) {
				found[m[1]] = append(found[m[1]], s.path)
			}
		}
	}
	for method, files := range writers {
		require.ElementsMatch(t, files, found[method], "%s: who calls it checks first, then stands in the list", method)
	}
}

// A provider is named where it is made, and in the one list that commands and pages offer.
func TestProvidersAreNamedInOnePlace(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`["=](` + strings.Join(core.ProviderNames(), "|") + `)["<]`)
	for _, name := range tracked(t) {
		ext := path.Ext(name)
		if ext != ".go" && ext != ".html" || strings.HasSuffix(name, "_test.go") || name == "core/provider.go" ||
			underAny(name, []string{"vmfactory/local", "vmfactory/lxc", "vmfactory/providertest"}) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for _, line := range names.FindAllString(string(text), -1) {
			if name != "core/config/config.go" { // the setting's default
				t.Errorf("%s names a provider, %s: core.ProviderKinds has those that there are", name, line)
			}
		}
	}
}
