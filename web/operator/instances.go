package operator

import (
	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// instancesPage is how many machines one page shows.
const instancesPage = 50

// instancesData is what the page of host groups and their machines shows.
type instancesData struct {
	Groups    []operate.Group
	Instances []core.Instance
	Next      string
}

func (s *pages) instances(r *page.Request) error {
	var d instancesData
	var err error
	if d.Groups, err = s.Cluster.Groups(r.Context(), r.Actor()); err != nil {
		return err
	}
	d.Instances, err = s.Cluster.Instances(r.Context(), r.Actor(), core.InstanceFilter{Before: r.FormValue("before"), Limit: instancesPage + 1})
	if err != nil {
		return err
	}
	if len(d.Instances) > instancesPage {
		d.Instances = d.Instances[:instancesPage]
		d.Next = more(r, "before", d.Instances[instancesPage-1].ID)
	}
	return r.Render("operator/instances", d)
}

func (s *pages) pauseGroup(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	name, paused := r.PathValue("group"), r.FormValue("paused") == "yes"
	if err := s.Cluster.PauseGroup(r.Context(), r.Actor(), name, paused); err != nil {
		return err
	}
	sentence := r.T("Host group %s makes and ends machines again.", name)
	if paused {
		sentence = r.T("Host group %s is paused: it makes and ends no machines.", name)
	}
	return r.Redirect("/cluster/instances", sentence)
}

func (s *pages) terminateInstance(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	id := r.PathValue("instance")
	if _, err := s.Cluster.Terminate(r.Context(), r.Actor(), id, false); err != nil {
		return err
	}
	return r.Redirect("/cluster/instances", r.T("Machine %s ends.", id))
}
