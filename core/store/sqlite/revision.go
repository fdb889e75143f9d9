package sqlite

import (
	"cmp"
	"encoding/json"
	"strings"

	"drover/core"
)

// column is a column of a row with its value.
type column struct {
	name  string
	value any
}

// revised is a row that carries a revision.
type revised struct {
	what     string   // for people: "user ann"
	table    string   //
	key      []column // its primary key
	columns  []column // all others but revision
	revision int64    // known to the caller; 0 creates the row
}

// put creates or changes a row by the rules of every Put, see school.Roster.
func (t *tx) put(r revised) (int64, error) {
	next := r.revision + 1
	if r.revision == 0 {
		all := append(append(append([]column{}, r.key...), r.columns...), column{"revision", next})
		names, args := split(all, "", ", ")
		n, err := t.exec("INSERT INTO "+r.table+" ("+names+") VALUES (?"+strings.Repeat(", ?", len(all)-1)+") ON CONFLICT DO NOTHING", args...)
		if err == nil && n == 0 {
			err = core.NotPut(r.what, r.id(), 0, true)
		}
		return next, err
	}
	set, args := split(append(append([]column{}, r.columns...), column{"revision", next}), " = ?", ", ")
	where, key := split(r.key, " = ?", " AND ")
	n, err := t.exec("UPDATE "+r.table+" SET "+set+" WHERE "+where+" AND revision = ?", append(append(args, key...), r.revision)...)
	if err != nil || n == 1 {
		return next, err
	}
	is, err := t.any("SELECT 1 FROM "+r.table+" WHERE "+where, key...)
	return 0, cmp.Or(err, core.NotPut(r.what, r.id(), r.revision, is))
}

// id is the last part of the key.
func (r revised) id() string {
	id, _ := r.key[len(r.key)-1].value.(string)
	return id
}

func split(columns []column, suffix, between string) (string, []any) {
	names, values := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		names[i], values[i] = c.name+suffix, c.value
	}
	return strings.Join(names, between), values
}

// any reports whether a query finds a row.
func (t *tx) any(query string, args ...any) (bool, error) {
	var is bool
	err := t.one("SELECT EXISTS ("+query+")", args, &is)
	return is, err
}

// room returns LIMIT if the others that a query counts use up a quota.
func (t *tx) room(q core.Quota, id, count string, args ...any) error {
	var others int
	if err := t.one(count, args, &others); err != nil {
		return err
	}
	return q.Check(id, others)
}

// encode writes a document of the store.
func encode(what any, id string) ([]byte, error) {
	doc, err := json.Marshal(what)
	return doc, core.Wrap(err, core.CodeInvalid, id, "%s cannot be written as JSON", id)
}
