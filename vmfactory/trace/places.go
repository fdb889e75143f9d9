package trace

import (
	"hash/fnv"
	"sync"

	"drover/core"
)

// Places are numbers by which each VM of a run folder has something for itself, such as users of the host. All
// methods are safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	held map[int]string // place → the VM that has it
}

// places returns the places in the VMs' records.
func (s Set) places() (*Places, error) {
	ids, err := s.Found()
	if err != nil {
		return nil, err
	}
	p := &Places{held: make(map[int]string, len(ids))}
	for _, id := range ids {
		if r, err := s.Read(id); err == nil {
			p.held[r.Place] = id
		}
	}
	return p, nil
}

// Take gives a VM one of n places that no other has. It begins at a place derived from the seed, so that run folders
// of one host rarely collide; elsewhere are places of other run folders' VMs. Returns FULL if all are taken.
func (p *Places) Take(id string, n int, seed string, elsewhere map[int]bool) (int, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed)) // never fails
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range n {
		place := (int(h.Sum64()%uint64(n)) + i) % n //nolint:gosec // below n
		if other, taken := p.held[place]; (!taken || other == id) && !elsewhere[place] {
			p.held[place] = id
			return place, nil
		}
	}
	return 0, core.Errorf(core.CodeFull, id, "all %d places for VMs on this host, each with users of its own, are taken", n)
}

// Free releases a VM's place.
func (p *Places) Free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, vm := range p.held {
		if vm == id {
			delete(p.held, place)
		}
	}
}
