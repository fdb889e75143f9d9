package coretest

import (
	"errors"
	"math"
	"sync"
)

// ErrDead is returned to a process after its last step.
var ErrDead = errors.New("the process died")

// Mortal lets a process die after so many steps: the last one is done, its
// answer is lost, and nothing works from then on.
type Mortal struct {
	Steps int      // left to live
	Once  bool     // only that answer is lost: it lives on
	Names []string // of the steps done

	mu sync.Mutex
}

// Step does one step, if the process still lives.
func (m *Mortal) Step(name string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Steps <= 0 {
		return ErrDead
	}
	m.Steps--
	m.Names = append(m.Names, name)
	if err := do(); err != nil {
		return err
	}
	if m.Steps == 0 {
		if m.Once {
			m.Steps = math.MaxInt
		}
		return ErrDead
	}
	return nil
}
