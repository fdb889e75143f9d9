package operator

import (
	"strconv"
	"time"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/chart"
	"drover/web/page"
)

// hostData is what a host's page shows.
type hostData struct {
	operate.HostView

	Bars    []bar
	Changes changes
	Charts  []chart.Chart // of what the host measured
	Heart   heart
	Form    map[string]string // as it was filled in
	Fields  []field           // settings
	Wrong   bool              // one of them was
}

func (s *pages) hostData(r *page.Request) (hostData, error) {
	v, err := s.Cluster.Host(r.Context(), r.Actor(), r.PathValue("host"))
	form := map[string]string{"deadline": r.PostFormValue("deadline"), "reason": r.PostFormValue("reason")}
	settings := v.Settings.Explicit(v.Whole())
	if err != nil {
		return hostData{HostView: v, Form: form}, err
	}
	its, err := s.changesOfThing(r, core.EntityHost, v.Name)
	return hostData{HostView: v, Changes: its, Bars: bars(v.Loads), Charts: loadCharts(r, &v, time.Now()), Heart: heart(s.Beat), Form: form, Fields: hostFields(&settings)}, err
}

// sizeRow is one figure of what a host has for VMs.
type sizeRow struct{ Label, Free, Whole string }

// Sizes are the figures that the host reported.
func (d hostData) Sizes() []sizeRow {
	var rows []sizeRow
	add := func(label string, free, whole int64, write func(int64) string) {
		if whole < core.Unlimited/2 {
			rows = append(rows, sizeRow{label, write(max(0, free)), write(whole)})
		}
	}
	add(page.Sentence("Processors"), d.Free.CPU, d.Capacity.CPU, processors)
	add(page.Sentence("Memory"), d.Free.Memory, d.Capacity.Memory, bytes)
	add(page.Sentence("Disk"), d.Free.Disk, d.Capacity.Disk, bytes)
	return rows
}

func processors(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'g', 6, 64) }

func bytes(n int64) string { return core.SizeText(n) }

func (s *pages) setHost(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	d, err := s.hostData(r)
	if err != nil {
		return err
	}
	settings := d.Settings.Explicit(d.Whole())
	d.Fields = hostFields(&settings)
	if err = readFields(r, d.Fields); err == nil {
		err = s.Cluster.SetHost(r.Context(), r.Actor(), d.Name, settings.Implicit(d.Whole()))
	}
	if err != nil {
		d.Wrong = true
		return r.Again(err, "operator/host", d)
	}
	return r.Redirect("/cluster/hosts/"+d.Name, r.T("Host %s is set.", d.Name))
}

func (s *pages) host(r *page.Request) error {
	d, err := s.hostData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/host", d)
}

// done ends a form of a host's page: it returns there, with the sentence or the error.
func (s *pages) done(r *page.Request, err error, sentence string) error {
	if err == nil {
		return r.Redirect("/cluster/hosts/"+r.PathValue("host"), sentence)
	}
	d, missing := s.hostData(r)
	if missing != nil {
		return err
	}
	return r.Again(err, "operator/host", d)
}

func (s *pages) drain(r *page.Request) error {
	host, text := r.PathValue("host"), r.FormValue("deadline")
	var deadline time.Duration
	if text != "" {
		var err error
		if deadline, err = time.ParseDuration(text); err != nil || deadline == 0 {
			return s.done(r, core.Errorf(core.CodeInvalid, "deadline", "%s", r.T("%q is not a duration: write one such as 10m, or leave it empty.", text)), "")
		}
	}
	err := s.Cluster.Drain(r.Context(), r.Actor(), host, deadline)
	return s.done(r, err, r.T("Host %s takes no new work.", host))
}

func (s *pages) evacuate(r *page.Request) error {
	host := r.PathValue("host")
	err := sure(r)
	if err == nil {
		err = s.Cluster.Drain(r.Context(), r.Actor(), host, operate.AtOnce)
	}
	return s.done(r, err, r.T("Host %s takes no new work, and its unfinished work moves to other hosts.", host))
}

func (s *pages) undrain(r *page.Request) error {
	host := r.PathValue("host")
	return s.done(r, s.Cluster.Undrain(r.Context(), r.Actor(), host), r.T("Host %s takes work again.", host))
}

func (s *pages) trust(r *page.Request) error {
	host := r.PathValue("host")
	return s.done(r, s.Cluster.Trust(r.Context(), r.Actor(), host), r.T("Host %s is trusted.", host))
}

func (s *pages) report(r *page.Request) error {
	report := core.HostReport{Host: r.PathValue("host"), Event: core.HostEvent(r.FormValue("event")), Reason: r.FormValue("reason")}
	return s.done(r, s.Cluster.Report(r.Context(), r.Actor(), report), r.T("The report was filed; an overseer acts on it."))
}

func (s *pages) forget(r *page.Request) error {
	host := r.PathValue("host")
	err := sure(r)
	if err == nil {
		err = s.Cluster.Forget(r.Context(), r.Actor(), host)
	}
	if err != nil {
		return s.done(r, err, "")
	}
	return r.Redirect("/cluster", r.T("Host %s is forgotten.", host))
}
