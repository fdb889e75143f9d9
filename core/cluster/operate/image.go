package operate

import (
	"context"

	"drover/core"
)

// Image is an image of the store, and the pools that use it.
type Image struct {
	core.Image

	Newest bool     `json:"newest"` // its name without a digest means this one
	Pools  []string `json:"pools"`  // that use it
}

// Images lists all images by name, each name's newest first. Returns FORBIDDEN.
func (o *Service) Images(ctx context.Context, a core.Actor) ([]Image, error) {
	v, err := o.Overview(ctx, a)
	if err != nil {
		return nil, err
	}
	return o.images.get(ctx, o.now, freshFor, func(ctx context.Context) ([]Image, error) {
		all, err := o.Store.ListImages(ctx)
		out := make([]Image, len(all))
		for i, image := range all {
			out[i] = Image{Image: image, Newest: i == 0 || all[i-1].Name != image.Name, Pools: []string{}}
			for _, p := range v.Pools {
				if p.Image == image.Ref() || out[i].Newest && p.Image == image.Name {
					out[i].Pools = append(out[i].Pools, p.Name)
				}
			}
		}
		return out, err
	})
}
