package operator

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/harness"
	"drover/web/page"
	"drover/web/transfer"
)

// usedFor is the time for which a job type's page counts requests.
const usedFor = 7 * 24 * time.Hour

// typesData is what the page of all job types shows.
type typesData struct {
	Types []typeRow
	Pools []string // for a new type
	Name  string
	Pool  string
}

// typeRow is a job type as it is shown.
type typeRow struct {
	core.JobType

	Line string // its command, as for a shell
}

func rowOfType(t core.JobType) typeRow { return typeRow{t, shellquote.Join(t.Command...)} }

func (s *pages) typesData(r *page.Request) (typesData, error) {
	d := typesData{Name: r.PostFormValue("name"), Pool: r.PostFormValue("pool")}
	all, err := s.Requests.JobTypes(r.Context(), r.Actor())
	if err != nil {
		return d, err
	}
	for _, t := range all {
		d.Types = append(d.Types, rowOfType(t))
	}
	d.Pools, err = s.poolNames(r)
	return d, err
}

func (s *pages) poolNames(r *page.Request) ([]string, error) {
	pools, err := s.Cluster.Pools(r.Context(), r.Actor())
	names := make([]string, len(pools))
	for i := range pools {
		names[i] = pools[i].Name
	}
	return names, err
}

func (s *pages) types(r *page.Request) error {
	d, err := s.typesData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/types", d)
}

// makeType creates a job type whose requests say what is run.
func (s *pages) makeType(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	name := r.FormValue("name")
	_, err := s.Requests.JobType(r.Context(), r.Actor(), name)
	switch {
	case err == nil:
		err = core.Errorf(core.CodeConflict, name, "%s", r.T("Job type %s exists already.", name))
	case core.Is(err, core.CodeNotFound):
		_, err = s.Requests.SetJobType(r.Context(), r.Actor(), core.JobType{Name: name, Pool: r.FormValue("pool"), Priority: core.PriorityNormal})
		err = mendable(err)
	}
	if err == nil {
		return r.Redirect("/cluster/types/"+name, r.T("Job type %s was created: say here what its requests get.", name))
	}
	d, missing := s.typesData(r)
	if missing != nil {
		return err
	}
	return r.Again(err, "operator/types", d)
}

// mendable makes an error of a form that names something unknown one of the form.
func mendable(err error) error {
	if core.Is(err, core.CodeNotFound) {
		return core.Errorf(core.CodeInvalid, "", "%s", err)
	}
	return err
}

// typeData is what a job type's page shows.
type typeData struct {
	core.JobType // as typed

	Was    typeRow // as it is
	Fields []field
	Gets   core.Limits // of a request that asks for none
	Used   history.Row // what ended in the last days; Total is 0 if it is among others that had fewer
	Input  string      // of its harness
}

func (s *pages) typeData(r *page.Request) (*typeData, error) {
	t, err := s.Requests.JobType(r.Context(), r.Actor(), r.PathValue("type"))
	if err != nil {
		return nil, err
	}
	pools, err := s.Cluster.Pools(r.Context(), r.Actor())
	if err != nil {
		return nil, err
	}
	d := &typeData{JobType: t, Was: rowOfType(t), Gets: t.Limits, Input: string(t.Input)}
	names := []string{}
	for i := range pools {
		if names = append(names, pools[i].Name); pools[i].Name == t.Pool {
			d.Gets = t.Limits.Or(pools[i].Limits)
		}
	}
	if !slices.Contains(names, t.Pool) { // it is being removed, or what is shown of pools is old
		names = append(names, t.Pool)
	}
	d.Fields = typeFields(&d.JobType, names)
	now := r.Now()
	used, err := s.Cluster.Stats(r.Context(), r.Actor(), "type", now.Add(-usedFor), now)
	for _, row := range used.Rows {
		if row.Value == t.Name {
			d.Used = row
		}
	}
	return d, err
}

func (s *pages) jobType(r *page.Request) error {
	d, err := s.typeData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/type", d)
}

func (s *pages) setType(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	d, err := s.typeData(r)
	if err != nil {
		return err
	}
	if err = readFields(r, d.Fields); err == nil {
		t := d.JobType
		if len(t.Command) > 0 && t.Harness != nil { // a command replaces a harness
			t.Harness, t.Input = nil, nil
		}
		_, err = s.Requests.SetJobType(r.Context(), r.Actor(), t)
	}
	if err != nil {
		if core.Is(err, core.CodeUnavailable) {
			return err
		}
		return r.Again(atFields(r, d.Fields, err), "operator/type", d)
	}
	return r.Redirect("/cluster/types/"+d.Name, r.T("Job type %s is set.", d.Name))
}

// atFields puts what is wrong at the fields, and returns what to say above all of them.
func atFields(r *page.Request, fields []field, err error) error {
	var faults core.Faults
	errors.As(err, &faults)
	var rest []string
	for _, f := range faults {
		name := formName(f.Field)
		i := slices.IndexFunc(fields, func(one field) bool { return one.Name == name })
		if i < 0 {
			rest = append(rest, f.Err.Error())
		} else {
			fields[i].Wrong = cmp.Or(fields[i].Wrong, f.Err.Error())
		}
	}
	if !slices.ContainsFunc(fields, func(f field) bool { return f.Wrong != "" }) {
		return mendable(err)
	}
	return core.Errorf(core.CodeInvalid, "", "%s", strings.Join(append(rest, r.T("It was not saved: what is wrong stands at the fields.")), " "))
}

// formName returns the name of a form's field for a field of a request.
func formName(field string) string {
	return strings.TrimSuffix(strings.TrimPrefix(field, "limits."), "_ns")
}

// setTypeHarness gives a job type the harness in an archive, in place of a command.
func (s *pages) setTypeHarness(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	d, err := s.typeData(r)
	if err != nil {
		return err
	}
	body := transfer.Bounded(r.W, r.Body, s.Now)
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	if err == nil {
		err = s.takeHarness(r, d.Name, f)
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(body, harness.MaxPackBytes)) // a browser that cannot send everything shows no answer
		return r.Again(mendable(err), "operator/type", d)
	}
	return r.Redirect("/cluster/types/"+d.Name, r.T("From now on its requests are graded by this harness."))
}

func (s *pages) takeHarness(r *page.Request, name string, f *transfer.Form) error {
	for u, err := range f.Files() {
		if err == nil {
			_, err = s.Requests.SetTypeHarness(r.Context(), r.Actor(), name, u.Content)
		}
		return err
	}
	return core.Errorf(core.CodeInvalid, name, "%s", r.T("Choose an archive."))
}

// removeTypeHarness leaves it to requests what is run.
func (s *pages) removeTypeHarness(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	t, err := s.Requests.JobType(r.Context(), r.Actor(), r.PathValue("type"))
	if err == nil {
		t.Harness, t.Input = nil, nil
		_, err = s.Requests.SetJobType(r.Context(), r.Actor(), t)
	}
	if err != nil {
		return err
	}
	return r.Redirect("/cluster/types/"+t.Name, r.T("Its harness was removed: its requests say what is run."))
}

func (s *pages) deleteType(r *page.Request) error {
	name := r.PathValue("type")
	if err := s.Requests.DeleteJobType(r.Context(), r.Actor(), name); err != nil {
		return err
	}
	return r.Redirect("/cluster/types", r.T("Job type %s was deleted. Requests that named it are not affected.", name))
}
