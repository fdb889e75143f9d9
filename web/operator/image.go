package operator

import (
	"slices"
	"strconv"

	"drover/core/cluster/operate"
	"drover/web/page"
)

// imagesPage is how many images one page shows.
const imagesPage = 50

// imagesData is what the page of images shows.
type imagesData struct {
	Images []imageRow
	All    bool // includes older versions that no pool uses
	Next   string
}

type imageRow struct {
	operate.Image

	Short string // the part of the digest that is shown to people, as by drover image list
}

func (s *pages) images(r *page.Request) error {
	all, err := s.Cluster.Images(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d := imagesData{All: r.FormValue("all") == "yes"}
	if !d.All {
		all = slices.DeleteFunc(slices.Clone(all), func(i operate.Image) bool { return !i.Newest && len(i.Pools) == 0 })
	}
	from, _ := strconv.Atoi(r.FormValue("from")) // anything but a number is 0
	from = min(max(from, 0), len(all))
	to := min(from+imagesPage, len(all))
	const digits = len("sha256:") + 12
	for _, i := range all[from:to] {
		d.Images = append(d.Images, imageRow{Image: i, Short: i.Digest[:min(len(i.Digest), digits)]})
	}
	if to < len(all) {
		d.Next = more(r, "from", strconv.Itoa(to))
	}
	return r.Render("operator/images", d)
}
