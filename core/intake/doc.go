// Package intake is the way in: submit, cancel, rerun, pools, tasks, and the
// sweeps that heal what a crash left half done. Store first, Redis second, always.
package intake
