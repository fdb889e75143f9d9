package worker

import "drover/core"

// Serve changes which pools the worker takes work from, beginning with its next call. Returns INVALID for an empty
// list or an invalid name.
func (d *Worker) Serve(pools []string) error {
	if err := checkPools(d.Owner(), pools); err != nil {
		return err
	}
	d.mu.Lock()
	d.rotated = rotations(pools)
	d.rung = d.rung || d.waiters.len() > 0 // work in a new pool may have rung before anybody here listened
	d.mu.Unlock()
	d.kick()
	return nil
}

func checkPools(owner string, pools []string) error {
	if len(pools) == 0 {
		return core.Errorf(core.CodeInvalid, owner, "owner %s names no pool to take work from", owner)
	}
	for _, pool := range pools {
		if err := core.CheckName("pool", pool); err != nil {
			return err
		}
	}
	return nil
}

// rotations returns the lists of pools that begin with each pool in turn.
func rotations(pools []string) [][]string {
	all := make([][]string, len(pools))
	for i := range pools {
		all[i] = append(append([]string{}, pools[i:]...), pools[:i]...)
	}
	return all
}
