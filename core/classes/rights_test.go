package classes_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The verdicts of testdata/rights.txt.
const (
	yes    = "yes"
	no     = "no"
	hidden = "hidden"
)

// table is testdata/rights.txt: action → who → verdict.
func table(t *testing.T) (who []string, verdicts map[core.Action]map[string]string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/rights.txt")
	require.NoError(t, err)
	verdicts = map[core.Action]map[string]string{}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || words[0] == "admin":
		case words[0] == "action":
			who = words[1:]
		default:
			require.Len(t, words, len(who)+1, "%s", line)
			row := map[string]string{}
			for i, verdict := range words[1:] {
				require.Contains(t, []string{yes, no, hidden}, verdict, "%s", line)
				row[who[i]] = verdict
			}
			verdicts[core.Action(words[0])] = row
		}
	}
	return who, verdicts
}

// actor is who a column means.
func (w *fixture) actor(who string) core.Actor {
	if who == "left" {
		return core.Actor{Handle: "ann"}
	}
	return w.as(who)
}

// object is what an action of the table is about.
func object(r core.Right) core.Object {
	var o core.Object
	classless := []core.Action{core.ActUserManage, core.ActUserView, core.ActSchedule}
	if r.Action == core.ActLeaseView || r.Action == core.ActInvite || !slices.Contains(classless, r.Action) && !slices.Contains(elsewhere, r.Action) {
		o.Class = "cs101"
	}
	if r.Owner {
		o.Owner = "ann"
	}
	return o
}

func TestEveryActionHasARow(t *testing.T) {
	t.Parallel()
	_, verdicts := table(t)
	actions := map[core.Action]bool{}
	for _, r := range core.Rights() {
		actions[r.Action] = true
		assert.Contains(t, verdicts, r.Action, "testdata/rights.txt has no row for it")
	}
	for action := range verdicts {
		assert.True(t, actions[action], "testdata/rights.txt has a row for %s, which is no action", action)
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	who, verdicts := table(t)
	for _, r := range core.Rights() {
		for _, one := range who {
			err := core.Allow(w.actor(one), r.Action, object(r))
			if verdicts[r.Action][one] == yes {
				assert.NoError(t, err, "%s by %s", r.Action, one)
			} else {
				assert.Equal(t, core.CodeForbidden, core.CodeOf(err), "%s by %s", r.Action, one)
			}
		}
	}
}

// Each call is made by everybody, and ends as the table says.
func TestEveryCallChecksItsRight(t *testing.T) {
	t.Parallel()
	who, verdicts := table(t)
	for i, c := range calls() {
		t.Run(fmt.Sprintf("%s by %s %d", c.action, c.method, i), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			for n, one := range who {
				id := ""
				if c.prepare != nil {
					id = c.prepare(w, n)
				}
				want := map[string]core.Code{yes: "", no: core.CodeForbidden, hidden: core.CodeNotFound}[verdicts[c.action][one]]
				if c.made && want != "" {
					want = core.CodeForbidden
				}
				actor := w.actor(one)
				w.log.clear()
				err := c.do(w, actor, id)
				assert.Equal(t, want, core.CodeOf(err), "%s by %s: %v", c.method, one, err)
				if want != "" {
					assert.Empty(t, w.log.names, "%s by %s left something", c.method, one)
				}
			}
		})
	}
}

// unranked are methods that answer everybody, by what each may see: list_test.go holds
// them against the calls for one thing. Actor is before all rights.
var unranked = []string{"Actor", "ListClasses", "ListSubmissions", "ListTasks", "TrackTasks", "CountQuestions", "UnreadComments", "ClassTitle", "AssignmentTitle", "PersonName", "Names"}

// elsewhere are the actions of core/requests, core/account, core/cluster/operate and core/cluster/lease, whose calls are held against the same table.
var elsewhere = []core.Action{core.ActAccount, core.ActInvite, core.ActRequestCreate, core.ActRequestView, core.ActRequestControl, core.ActLeaseView, core.ActLeaseManage, core.ActClusterView, core.ActClusterOperate}

func TestEveryCallIsTried(t *testing.T) {
	t.Parallel()
	tried, needed := map[string]bool{}, map[core.Action]bool{}
	for _, c := range calls() {
		tried[c.method], needed[c.action] = true, true
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	methods := reflect.TypeFor[*classes.Service]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		assert.NotEqual(t, slices.Contains(unranked, name), tried[name], "%s has to be in calls or in unranked", name)
		assert.Regexp(t, `//\t.*\b`+name+`\b`, string(doc), "doc.go's table has to tell of it")
	}
	for _, r := range core.Rights() {
		assert.NotEqual(t, slices.Contains(elsewhere, r.Action), needed[r.Action], "%s has to be in calls or in elsewhere", r.Action)
	}
}
