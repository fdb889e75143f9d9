package trace

import (
	"hash/fnv"
	"sync"

	"drover/core"
)

// Places are what each VM of a run folder has for itself by number, such as users
// of the host. All methods are safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	held map[int]string // place → the VM that has it
}

// places returns those that the VMs' records name as held.
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

// Take gives a VM one of n places that no other has. It begins where the seed points, so that
// run folders of one host rarely meet; elsewhere are the places that VMs of others have.
// Returns FULL if all are held.
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

// Free takes back what a VM has.
func (p *Places) Free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, vm := range p.held {
		if vm == id {
			delete(p.held, place)
		}
	}
}
