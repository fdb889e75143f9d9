package wiring

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/config"
	"drover/core/service"
	"drover/vmfactory"
	"drover/vmfactory/imagecache"
	"drover/vmfactory/local"
	"drover/vmfactory/lxc"
)

// Providers are the providers of this host's VMs.
type Providers struct {
	All    []vmfactory.Provider
	images *imagecache.Store // nil without a cluster, or without a provider that has images
	lxc    *lxc.Provider     // nil if it is not set up
	throw  bool              // images are removed with this process
}

// NewProviders makes the providers in the settings. Without a cluster (h is nil) they can find and destroy VMs, but
// make none that need an image.
func NewProviders(cfg *config.Config, h *access.Cluster, embedded bool) (p *Providers, err error) {
	p = &Providers{throw: embedded}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, name := range cfg.Provider {
		switch name {
		case local.Name:
			one, err := local.New(local.Config{Run: cfg.Run, TieToProcess: embedded, Cgroup: cfg.Cgroup, Agent: cfg.Agent, Version: access.Version})
			if err != nil {
				return p, err
			}
			p.All = append(p.All, one)
		case lxc.Name:
			if err := p.addLXC(cfg, h, embedded); err != nil {
				return p, err
			}
		default:
			return p, errors.Join(core.CheckProvider(name), core.Errorf(core.CodeInvalid, name, "provider %s is not in this program", name))
		}
	}
	return p, nil
}

func (p *Providers) addLXC(cfg *config.Config, h *access.Cluster, embedded bool) (err error) {
	var from lxc.Images = NoImages{}
	if h != nil {
		if p.images, err = imagecache.Open(imagecache.Config{Dir: filepath.Join(cfg.Data, "images"), Images: h.Store, Blobs: h.Blobs}); err != nil {
			return err
		}
		from = hostImages{p.images}
	}
	p.lxc, err = lxc.New(lxc.Config{Run: cfg.Run, TieToProcess: embedded, Images: from, Agent: cfg.Agent, Version: access.Version, DNS: cfg.EgressDNS, Closed: cfg.EgressClosed})
	if err == nil {
		p.All = append(p.All, p.lxc)
	}
	return err
}

// left names providers that are not configured any more but have VMs on this host.
func left(ctx context.Context, cfg *config.Config) ([]string, error) {
	var names []string
	for _, name := range core.ProviderNames() {
		if slices.Contains(cfg.Provider, name) {
			continue
		}
		other := *cfg
		other.Provider = []string{name}
		made, err := NewProviders(&other, nil, false)
		if err != nil {
			return nil, err
		}
		vms, err := made.All[0].List(ctx)
		if err := errors.Join(err, made.Close()); err != nil {
			return nil, err
		}
		if len(vms) > 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

// hostImages are this host's images as lxc.Images.
type hostImages struct{ *imagecache.Store }

// Rootfs implements lxc.Images.
func (h hostImages) Rootfs(ctx context.Context, ref string) (digest, path string, err error) {
	r, err := h.Get(ctx, ref)
	return r.Digest, r.Path, err
}

// NoImages is used without a cluster.
type NoImages struct{}

// Rootfs implements lxc.Images.
func (NoImages) Rootfs(_ context.Context, ref string) (digest, path string, err error) {
	return "", "", core.Errorf(core.CodeUnavailable, ref, "image %s is not to be had without a cluster", ref)
}

// ready asks all of them.
func (p *Providers) ready(ctx context.Context) error {
	var all error
	for _, one := range p.All {
		all = errors.Join(all, one.Ready(ctx))
	}
	return all
}

// Close closes them. VMs stay, unless they are tied to this process.
func (p *Providers) Close() error {
	var all error
	for _, one := range p.All {
		all = errors.Join(all, one.Close())
	}
	if p.images == nil {
		return all
	}
	if p.throw {
		_, err := p.images.Sweep(nil, 0)
		all = errors.Join(all, err)
	}
	return errors.Join(all, p.images.Close())
}

// How often unused images are looked for, and how long they are kept.
const (
	sweepImages = 10 * time.Minute
	keepImages  = time.Hour
)

// sweep removes images of this host that nothing has used for a while; nil if
// there are none.
func (p *Providers) sweep(log logrus.FieldLogger) []service.Service {
	if p.images == nil {
		return nil
	}
	return []service.Service{{Name: "images", Run: func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(sweepImages):
			}
			gone, err := p.images.Sweep(func(digest string) bool {
				used, err := p.lxc.Uses(digest)
				return used || err != nil
			}, keepImages)
			if err != nil {
				log.WithError(err).Warn("images that nothing uses cannot be removed")
			}
			if len(gone) > 0 {
				log.WithField("images", gone).Info("removed images that nothing uses from this host; they are fetched again when they are needed")
			}
		}
	}}}
}
