package operator

import (
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// poolsData is what the page of all pools shows.
type poolsData struct {
	At    int64
	Pools []poolRow
	Name  string // of a new pool
}

type poolRow struct {
	core.Pool

	Bar bar
}

func (s *pages) poolsData(r *page.Request) (poolsData, error) {
	v, err := s.Cluster.Overview(r.Context(), r.Actor())
	d := poolsData{At: v.At, Name: r.PostFormValue("name")}
	all := bars(v.Totals)
	for i, p := range v.Pools {
		d.Pools = append(d.Pools, poolRow{Pool: p, Bar: all[i]})
	}
	return d, err
}

func (s *pages) pools(r *page.Request) error {
	d, err := s.poolsData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/pools", d)
}

// makePool creates a pool with the default settings.
func (s *pages) makePool(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	name := r.FormValue("name")
	_, err := s.Cluster.Pool(r.Context(), r.Actor(), name)
	switch {
	case err == nil:
		err = core.Errorf(core.CodeConflict, name, "%s", r.T("Pool %s exists already.", name))
	case core.Is(err, core.CodeNotFound):
		err = s.Cluster.SetPool(r.Context(), r.Actor(), core.DefaultPool(name))
	}
	if err == nil {
		return r.Redirect("/cluster/pools/"+name, r.T("Pool %s was created with default settings: change them here.", name))
	}
	d, missing := s.poolsData(r)
	if missing != nil {
		return err
	}
	return r.Again(err, "operator/pools", d)
}

// poolData is what a pool's page shows.
type poolData struct {
	core.Pool

	Outage  *core.Outage // nil: a host can make its VMs, or none is to
	FailsAt int64        // when its waiting requests fail if that lasts, ms since 1970; 0: never
	Fails   bool         // they do now
	Fields  []field
	Types   []string      // job types whose requests run there
	Limits  []limitRow    // what holds the limits of its VMs
	Hits    *operate.Hits // of the last day; nil where a form is shown again
	NoHits  bool          // a simulation was asked for, and there was nothing to simulate
}

// limitRow is what holds one limit of the pool's VMs, on hosts that say the same.
type limitRow struct {
	core.LimitNote

	Hosts []string
}

// readLimits lists what holds limits on the hosts that make the pool's VMs.
func (s *pages) readLimits(r *page.Request, p core.Pool) ([]limitRow, error) {
	seen, err := s.Cluster.Overview(r.Context(), r.Actor())
	var rows []limitRow
	for _, host := range seen.Hosts {
		if !slices.Contains(host.Serves, p.Name) {
			continue
		}
		for _, provider := range host.Providers {
			for _, note := range provider.Limits {
				if provider.Name != p.Provider {
					continue
				}
				at := slices.IndexFunc(rows, func(r limitRow) bool { return r.LimitNote == note })
				if at < 0 {
					at = len(rows)
					rows = append(rows, limitRow{LimitNote: note})
				}
				rows[at].Hosts = append(rows[at].Hosts, host.Name)
			}
		}
	}
	return rows, err
}

// readPool returns what the page of a pool shows, without its fields.
func (s *pages) readPool(r *page.Request) (poolData, error) {
	p, err := s.Cluster.Pool(r.Context(), r.Actor(), r.PathValue("pool"))
	if err != nil {
		return poolData{}, err
	}
	d := poolData{Pool: p}
	if d.Outage, err = s.Cluster.Outage(r.Context(), r.Actor(), p.Name); err != nil {
		return d, err
	}
	if d.Outage != nil {
		d.FailsAt, d.Fails = p.FailsAt(*d.Outage), p.Fails(*d.Outage)
	}
	if d.Limits, err = s.readLimits(r, p); err != nil {
		return d, err
	}
	all, err := s.Requests.JobTypes(r.Context(), r.Actor())
	for i := range all {
		if all[i].Pool == p.Name {
			d.Types = append(d.Types, all[i].Name)
		}
	}
	return d, err
}

func (s *pages) pool(r *page.Request) error {
	d, err := s.readPool(r)
	if err != nil {
		return err
	}
	d.Fields = poolFields(&d.Pool)
	until := time.Now()
	hits, err := s.Cluster.Hits(r.Context(), r.Actor(), d.Name, until.AddDate(0, 0, -1), until, r.FormValue("simulate") == "yes")
	if d.Hits = &hits; core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeInvalid) { // nothing ran, or no host could run it
		d.NoHits, err = true, nil
	}
	if err != nil {
		return err
	}
	return r.Render("operator/pool", d)
}

func (s *pages) removePool(r *page.Request) error {
	name := r.PathValue("pool")
	if err := s.Cluster.RemovePool(r.Context(), r.Actor(), name); err != nil {
		return err
	}
	return r.Redirect("/cluster/pools", r.T("Pool %s was removed.", name))
}

func (s *pages) setPool(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	shown, err := s.readPool(r)
	if err != nil {
		return err
	}
	p := shown.Pool
	shown.Fields = poolFields(&p)
	if err = readFields(r, shown.Fields); err == nil {
		err = s.Cluster.SetPool(r.Context(), r.Actor(), p)
	}
	if err != nil {
		return r.Again(err, "operator/pool", shown)
	}
	return r.Redirect("/cluster/pools/"+p.Name, r.T("Pool %s is set.", p.Name))
}

func (s *pages) pausePool(r *page.Request) error {
	name, paused := r.PathValue("pool"), r.FormValue("paused") == "yes"
	if err := s.Cluster.Pause(r.Context(), r.Actor(), name, paused); err != nil {
		return err
	}
	sentence := r.T("Pool %s was resumed.", name)
	if paused {
		sentence = r.T("Pool %s is paused: none of its requests starts.", name)
	}
	return r.Redirect(r.Next("/cluster/pools"), sentence)
}
