package classes_test

import (
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// importAs imports a file into cs101.
func (w *fixture) importAs(who, file string, opts classes.ImportOptions) classes.Imported {
	w.t.Helper()
	got, err := w.reg.ImportRoster(w.t.Context(), w.as(who), "cs101", strings.NewReader(file), opts)
	require.NoError(w.t, err)
	return got
}

func does(got classes.Imported) []string {
	var all []string
	for _, l := range got.Lines {
		all = append(all, l.Does+" "+l.User+" "+l.Name)
	}
	return all
}

// Files of other systems are read as they are.
func TestImportReadsOtherSystems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"Canvas": {
			"Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (7)\n    Points Possible,,,,,10\n\"Doe, Jane\",12,u12,jane.doe,Tue 10,\n\"Müller, Max\",13,u13,max@uni.example,Tue 10,3\n\"Student, Test\",14,,x77,,\n",
			[]string{"skipped  ", "created jane-doe Jane Doe", "created max Max Müller", "skipped  "},
		},
		"Moodle": {
			"\ufeff\"First name\",Surname,\"Email address\",Groups\nAnn,Example,ann@example.org,A\nÇelik,Öz,oez.celik@uni.example,B\n",
			[]string{"changed ann Ann Example", "created oez-celik Çelik Öz"},
		},
		"Excel":       {"Vorname;Nachname;E-Mail\r\nHannes;Groß;hannes.gross@uni.example\r\n", []string{"created hannes-gross Hannes Groß"}},
		"Windows1252": {"Name;E-Mail\nJ\xfcrgen \x8aim;j@uni.example\n", []string{"created j Jürgen Šim"}},
		"UTF-16":      {"\xff\xfeN\x00a\x00m\x00e\x00\t\x00R\x00o\x00l\x00e\x00\n\x00\xe4\x00\t\x00T\x00A\x00", []string{"created ae ä"}},
		"names only":  {"name\nMia Maus\nmia maus\n", []string{"created mia-maus Mia Maus", "wrong  mia maus"}},
		"same first part": {
			"email\ncleo@other.example\ncleo@third.example\n", []string{"created cleo-2 ", "created cleo-3 "},
		},
	} {
		w := newFixture(t)
		ann, err := w.reg.Store.GetUser(t.Context(), "ann")
		require.NoError(t, err)
		ann.Name = "Ann Example"
		require.NoError(t, done(w.reg.Store.PutUser(t.Context(), ann)))
		got := w.importAs("root", c.file, classes.ImportOptions{DryRun: true})
		assert.Equal(t, c.want, does(got), name)
		first := w.importAs("root", c.file, classes.ImportOptions{})
		again := w.importAs("root", c.file, classes.ImportOptions{})
		assert.Equal(t, first.Enrolled+first.Changed, again.Same, "%s: a file that is imported again changes nothing", name)
		assert.Empty(t, again.ID, name)
	}
}

func TestImportTakesChosenColumns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	file := "Wer,Was,Woher\nMia Maus,mia,mia@uni.example\n"
	got, err := w.reg.ImportRoster(t.Context(), w.as("root"), "cs101", strings.NewReader(file), classes.ImportOptions{DryRun: true})
	requireCode(t, core.CodeInvalid, err)
	assert.Equal(t, []string{"Wer", "Was", "Woher"}, got.Header, "a form can ask what they are")
	got = w.importAs("root", file, classes.ImportOptions{Columns: []string{"name", "ignored", "email"}})
	assert.Equal(t, []string{"created mia Mia Maus"}, does(got))
	for _, columns := range [][]string{{"name", "name"}, {"shoe size"}, {"ignored"}} {
		_, err = w.reg.ImportRoster(t.Context(), w.as("root"), "cs101", strings.NewReader(file), classes.ImportOptions{Columns: columns})
		requireCode(t, core.CodeInvalid, err)
	}
	_, err = w.reg.ImportRoster(t.Context(), w.as("tess"), "cs101", strings.NewReader(file), classes.ImportOptions{Names: true})
	requireCode(t, core.CodeForbidden, err)
}

func TestImportIsUndone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	before, err := w.reg.Roster(ctx, w.as("root"), "cs101", "", 100)
	require.NoError(t, err)
	file := "handle,name,section,role\nann,Ann New,B,\ncleo,,,teaching_assistant\nnick,,,\nnew-1,,,\nnew-2,,,\nnew-3,,,\n"
	w.importAs("root", file, classes.ImportOptions{Names: true})

	// Since then new-1 has signed in, somebody has changed nick, and new-3 is in another class.
	require.NoError(t, done(w.store.PutAccount(ctx, school.Account{User: "new-1", Password: "$a$b", ChangedAt: start})))
	require.NoError(t, w.reg.Enrol(ctx, w.as("root"), "cs101", "nick", core.RoleAssistant))
	require.NoError(t, w.reg.Enrol(ctx, w.as("root"), "cs202", "new-3", core.RoleStudent))

	got, err := w.reg.UndoImport(ctx, w.as("root"), "cs101")
	require.NoError(t, err)
	got.ID = ""
	assert.Equal(t, classes.Undone{Dropped: 3, Changed: 3, Deleted: 1, Kept: 1}, got)
	require.NoError(t, w.reg.Drop(ctx, w.as("root"), "cs101", "nick"))
	after, err := w.reg.Roster(ctx, w.as("root"), "cs101", "", 100)
	require.NoError(t, err)
	for i := range after {
		after[i].Since = before[i].Since
	}
	assert.Equal(t, before, after)
	for user, there := range map[string]bool{"new-1": true, "new-2": false, "new-3": true} {
		_, err := w.store.GetUser(ctx, user)
		assert.Equal(t, there, err == nil, user)
	}
	_, err = w.reg.UndoImport(ctx, w.as("root"), "cs101")
	requireCode(t, core.CodeConflict, err)
}
