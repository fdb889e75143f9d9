package operator

import (
	"net/url"
	"strconv"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/calendar"
	"drover/web/page"
)

// leasesPath is the path of the calendar.
const leasesPath = "/cluster/leases"

func (s *pages) leaseRoutes() []page.Route {
	reserve := func(path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: "POST " + leasesPath + path, Action: core.ActLeaseManage, Serve: serve}
	}
	return []page.Route{
		{Pattern: "GET " + leasesPath, Action: core.ActClusterView, Serve: s.leases},
		reserve("", s.makeLease),
		reserve("/preview", s.previewLease),
		{Pattern: "GET " + leasesPath + "/{id}", Action: core.ActLeaseView, Serve: s.lease},
		reserve("/{id}", s.setLease),
		reserve("/{id}/delete", s.deleteLease),
	}
}

// leasesData is what the calendar's page shows.
type leasesData struct {
	At       int64
	Calendar *calendar.Calendar
	Items    []calendar.Item
	Form     leaseForm
	Preview  *core.Lease // what the form would get
	Window   calendar.Window
}

func (s *pages) leases(r *page.Request) error {
	d, err := s.leasesData(r, url.Values{})
	if err != nil {
		return err
	}
	return r.Render("operator/leases", d)
}

// leasesData reads the calendar, with a form as it was typed.
func (s *pages) leasesData(r *page.Request, typed url.Values) (*leasesData, error) {
	if err := s.Cluster.Watch(r.Actor()); err != nil {
		return nil, err
	}
	of, err := s.LeaseService()
	if err != nil {
		return nil, err
	}
	pools, err := s.poolNames(r)
	if err != nil {
		return nil, err
	}
	w, err := calendar.Chosen(r)
	if err != nil {
		return nil, err
	}
	v, err := of.View(r.Context(), r.Actor(), w.From(), w.To(), w.Pool)
	if err != nil {
		return nil, err
	}
	d := &leasesData{At: v.Now, Calendar: calendar.Draw(r, &v, w, leasesPath, pools), Items: calendar.Items(v.Leases), Form: newLeaseForm(typed, pools), Window: w}
	d.Calendar.Drag = mayReserve(r) == nil
	return d, nil
}

// mayReserve returns FORBIDDEN for a caller who may not manage leases.
func mayReserve(r *page.Request) error {
	return core.Allow(r.Actor(), core.ActLeaseManage, core.Object{})
}

// makeLease creates the lease of a form.
func (s *pages) makeLease(r *page.Request) error {
	return s.reserve(r, func(of leases, d lease.Draft, _ *leasesData) error {
		l, err := of.Create(r.Context(), r.Actor(), d)
		if err != nil {
			return err
		}
		return r.Redirect(leasePath(l.ID), r.T("Lease %s was created.", l.Name))
	})
}

// previewLease shows what the lease of a form would get.
func (s *pages) previewLease(r *page.Request) error {
	return s.reserve(r, func(of leases, d lease.Draft, data *leasesData) error {
		l, err := of.Preview(r.Context(), r.Actor(), d)
		if err != nil {
			return err
		}
		data.Preview = &l
		return r.Render("operator/leases", data)
	})
}

// reserve reads the form of a new lease and does something with it. What is wrong is said on its page.
func (s *pages) reserve(r *page.Request, do func(of leases, d lease.Draft, data *leasesData) error) error {
	if err := mayReserve(r); err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
	}
	data, err := s.leasesData(r, r.PostForm)
	if err != nil {
		return err
	}
	of, err := s.LeaseService()
	if err != nil {
		return err
	}
	d, err := data.Form.draft(r)
	if err == nil {
		err = do(of, d, data)
	}
	if err != nil {
		return r.Again(mendable(err), "operator/leases", data)
	}
	return nil
}

func leasePath(id string) string { return leasesPath + "/" + url.PathEscape(id) }

// leaseData is what the page of one lease shows.
type leaseData struct {
	core.Lease

	Begins, Ends, Made string
	Events             []leaseLine
	Notes              []leaseLine
	Watcher            bool // the reader may see the cluster
	Form               leaseForm
}

// leaseLine is an event, or something that happened, with its time in UTC.
type leaseLine struct {
	At, Done, What, State, Text, By string
}

func (s *pages) leaseData(r *page.Request) (*leaseData, leases, error) {
	of, err := s.LeaseService()
	if err != nil {
		return nil, nil, err
	}
	l, err := of.Get(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	d := &leaseData{Lease: l, Begins: page.UTC(l.Start), Ends: page.UTC(l.End), Made: page.UTC(l.Created), Watcher: s.Cluster.Watch(r.Actor()) == nil}
	for _, e := range l.Events {
		d.Events = append(d.Events, leaseLine{At: page.UTC(e.At), Done: page.UTC(e.Done), What: string(e.Kind), State: string(e.State), Text: e.Why})
	}
	for i := range l.Log { // newest first
		n := l.Log[len(l.Log)-1-i]
		d.Notes = append(d.Notes, leaseLine{At: page.UTC(n.At), What: n.Event, Text: n.Text, By: n.By})
	}
	if mayReserve(r) == nil {
		pools, err := s.poolNames(r)
		if err != nil {
			return nil, nil, err
		}
		d.Form = newLeaseForm(typedLease(&l), pools)
	}
	return d, of, nil
}

func (s *pages) lease(r *page.Request) error {
	d, _, err := s.leaseData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/lease", d)
}

// setLease changes what the form has other than the lease.
func (s *pages) setLease(r *page.Request) error {
	if err := mayReserve(r); err != nil {
		return err
	}
	d, of, err := s.leaseData(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
	}
	d.Form = newLeaseForm(r.PostForm, d.Form.Pools)
	change, err := d.Form.change(r, &d.Lease)
	if err == nil && change != (lease.Change{}) {
		_, err = of.Update(r.Context(), r.Actor(), d.ID, change)
	}
	if err != nil {
		return r.Again(mendable(err), "operator/lease", d)
	}
	return r.Redirect(leasePath(d.ID), r.T("Lease %s is saved.", d.Form.Typed.Get("name")))
}

func (s *pages) deleteLease(r *page.Request) error {
	if err := mayReserve(r); err != nil {
		return err
	}
	d, of, err := s.leaseData(r)
	if err != nil {
		return err
	}
	if r.FormValue("sure") != "yes" {
		err = core.Errorf(core.CodeInvalid, "sure", "%s", r.T("This cannot be undone: tick the box to confirm."))
	} else {
		err = of.Delete(r.Context(), r.Actor(), d.ID)
	}
	if err != nil {
		return r.Again(err, "operator/lease", d)
	}
	said := r.T("Lease %s was deleted.", d.Name)
	if d.State == core.LeaseActive {
		said = r.T("Lease %s ends now, and is deleted once nothing of it is left.", d.Name)
	}
	return r.Redirect(leasesPath, said)
}

// rows are the fields of a form's reservations.
func rows(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "r" + strconv.Itoa(i)
	}
	return all
}
