package operator

import (
	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// mostMoves bounds the moves that one page shows.
const mostMoves = 100

// moves are requests that leave or left a host.
type moves struct {
	Parked, Going, Ended []move
	More                 int // not shown
}

type move struct {
	core.Evacuation

	ID string // of the request
}

func movesOf(all []core.Evacuation) moves {
	var m moves
	for _, e := range all[:min(len(all), mostMoves)] {
		one := move{Evacuation: e}
		one.ID, _, _ = core.ParseKey(e.Key)
		switch {
		case e.State == core.EvacuationParked:
			m.Parked = append(m.Parked, one)
		case e.Ended == 0:
			m.Going = append(m.Going, one)
		default:
			m.Ended = append(m.Ended, one)
		}
	}
	m.More = max(0, len(all)-mostMoves)
	return m
}

// queuesData is what the page of queues shows.
type queuesData struct {
	At    int64
	Busy  []operate.Queue // in which something waits
	Empty int
	Tasks []core.TaskQueueInfo
}

func (s *pages) queues(r *page.Request) error {
	v, err := s.Cluster.Queues(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d := queuesData{At: v.At, Tasks: v.Tasks}
	for i := range v.Queues {
		if v.Queues[i].Waiting > 0 {
			d.Busy = append(d.Busy, v.Queues[i])
		} else {
			d.Empty++
		}
	}
	return r.Render("operator/queues", d)
}

func (s *pages) consistency(r *page.Request) error {
	v, err := s.Cluster.Findings(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	const most = 200
	return r.Render("operator/consistency", map[string]any{
		"At": v.At, "Broken": v.Broken[:min(len(v.Broken), most)], "More": max(0, len(v.Broken)-most),
	})
}

// auditPage is how many entries one page shows.
const auditPage = 50

func (s *pages) audit(r *page.Request) error {
	f := core.AuditFilter{
		Class: r.FormValue("class"), Actor: r.FormValue("actor"), Subject: r.FormValue("subject"), Before: r.FormValue("before"), Limit: auditPage,
	}
	entries, err := s.Classes.AuditEntries(r.Context(), r.Actor(), f)
	if err != nil {
		return err
	}
	next := ""
	if len(entries) == auditPage {
		next = more(r, "before", entries[len(entries)-1].ID)
	}
	return r.Render("operator/audit", map[string]any{"AuditEntries": entries, "Class": f.Class, "Actor": f.Actor, "Subject": f.Subject, "Next": next})
}

func (s *pages) events(r *page.Request) error {
	all, err := s.Cluster.LastEvents(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	return r.Render("operator/events", all)
}

// more returns the URL of the page after a cursor.
func more(r *page.Request, name, cursor string) string {
	q := r.URL.Query()
	q.Set(name, cursor)
	return r.URL.Path + "?" + q.Encode()
}
