package vmfactory

import "sync"

// homes remembers which provider has which VM. What it does not know is asked of
// every provider.
type homes struct {
	mu sync.Mutex
	of map[string]string
}

func (h *homes) set(vm, provider string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = make(map[string]string)
	}
	h.of[vm] = provider
}

func (h *homes) get(vm string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[vm]
}

func (h *homes) forget(vm string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, vm)
}
