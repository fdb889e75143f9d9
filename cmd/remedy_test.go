package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownRemedies are files whose sentences only readers of a terminal see: what the settings mean, what a process says
// when it cannot start, and what clients of a site's API say.
var ownRemedies = []string{"core/config", "core/blobs/identity.go", "core/cluster/simulate", "web/client", "web/api/join.go"}

// TestOnlyTheCommandLineNamesCommands reads every text in core and web: pages and the API show errors of core as they
// are, to people who have no command line. cmd/drover/terminal adds the command that helps.
func TestOnlyTheCommandLineNamesCommands(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`\bdrover (up|run|submit|join|doctor|overseer|vmfactory|testrunner|taskrunner|(user|class|assignment|submission|grades|experiment|request|batch|task|schedule|audit|vm|host|pool|type|lease|image|webhook|stats) [a-z]+)\b`)
	for _, s := range sources(t) {
		if s.test || !underAny(s.folder, []string{"core", "web"}) || underAny(s.path, ownRemedies) || suite(s.folder) {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.path), nil, 0)
		require.NoError(t, err)
		ast.Inspect(syntax, func(n ast.Node) bool {
			if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING && !strings.HasPrefix(text.Value, "`") && names.MatchString(text.Value) {
				t.Errorf("%s says %s: name no command, cmd/drover/terminal adds it", s.path, text.Value)
			}
			return true
		})
	}
}
