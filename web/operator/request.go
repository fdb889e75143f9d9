package operator

import (
	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// stepWords are the texts for the steps of a request.
var stepWords = map[operate.StepKind]struct{ Class, Sentence string }{
	operate.StepSubmitted: {"", page.Sentence("Submitted")},
	operate.StepQueued:    {"", page.Sentence("In the queue")},
	operate.StepClaimed:   {"calm", page.Sentence("Claimed together with a VM, and staged there")},
	operate.StepRunning:   {"calm", page.Sentence("Runs")},
	operate.StepFinished:  {"calm", page.Sentence("Its command has ended")},
	operate.StepRecorded:  {"good", page.Sentence("Its result is recorded")},
	operate.StepCancel:    {"bad", page.Sentence("Somebody asked to stop it")},
	operate.StepReleased:  {"", page.Sentence("Given back unharmed")},
	operate.StepFault:     {"bad", page.Sentence("A platform fault; it will be retried")},
	operate.StepWithdrawn: {"", page.Sentence("Removed from the queue")},
	operate.StepChanged:   {"", page.Sentence("Its pool, priority or limits were changed")},
}

// requestData is what a request's page shows.
type requestData struct {
	operate.Timeline

	Changes changes
	Rows    []stepRow
	Lanes   []lane
	Open    bool // it has not ended
	Dead    bool
	Pools   []string // that it can be moved to; none unless it waits
}

type stepRow struct {
	operate.Step

	Class, Sentence string
}

func (s *pages) request(r *page.Request) error {
	t, err := s.Cluster.Timeline(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	d := requestData{Timeline: t, Open: !t.State.Terminal(), Dead: t.State == core.RequestDead}
	if t.State == core.RequestQueued || t.State == core.RequestParked {
		pools, err := s.Cluster.Pools(r.Context(), r.Actor())
		if err != nil {
			return err
		}
		for _, p := range pools {
			d.Pools = append(d.Pools, p.Name)
		}
	}
	for _, step := range t.Steps {
		words := stepWords[step.Kind]
		if step.Kind == operate.StepRecorded {
			words.Class = endClass(step)
		}
		d.Rows = append(d.Rows, stepRow{Step: step, Class: words.Class, Sentence: words.Sentence})
	}
	d.Lanes = lanes(d.Rows)
	d.Changes, err = changesOf(r, func(before string) ([]core.StateChange, error) {
		return s.Cluster.RequestChanges(r.Context(), r.Actor(), t.ID, before, changesRows)
	})
	if err != nil {
		return err
	}
	return r.Render("operator/request", d)
}

// endClass returns the look of a recorded end: bad for a failure, plain for one that does not count.
func endClass(step operate.Step) string {
	switch {
	case step.Refused || step.Text == string(core.RequestCancelled):
		return ""
	case step.Text == string(core.RequestCompleted):
		return "good"
	}
	return "bad"
}

func (s *pages) retryRequest(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Requests.Rerun(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/cluster/requests/"+id), r.T("Request %s runs again.", id))
}

func (s *pages) dropRequest(r *page.Request) error {
	id := r.PathValue("id")
	if err := s.Cluster.Drop(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/cluster/dead"), r.T("Request %s was removed from the list; its result stays.", id))
}

func (s *pages) cancelRequest(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := s.Requests.Cancel(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(r.Next("/cluster/requests/"+id), r.T("Request %s is stopped.", id))
}

func (s *pages) changeRequest(r *page.Request) error {
	id := r.PathValue("id")
	c := core.Change{Pool: r.FormValue("pool"), Priority: core.Priority(r.FormValue("priority"))}
	if _, err := s.Requests.Change(r.Context(), r.Actor(), id, c); err != nil {
		return err
	}
	return r.Redirect("/cluster/requests/"+id, r.T("Request %s was changed.", id))
}

func (s *pages) dead(r *page.Request) error {
	all, err := s.Cluster.Dead(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	return r.Render("operator/dead", all)
}

func (s *pages) parked(r *page.Request) error {
	all, err := s.Cluster.Moves(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	return r.Render("operator/parked", movesOf(all))
}
