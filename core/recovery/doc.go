// Package recovery settles what a dead owner held, asking the store: the same
// code for an owner that restarts and for the overseer that reaps.
package recovery
