// Package cloud makes and ends machines for host groups, with one Provider for each kind of place that has machines:
// the operator's own programs, EC2, and processes of this machine. cloudtest is the suite that every provider passes.
//
// A provider keeps no state of its own. What it did is found again by the token of an order, which is the id of an
// instance in the result store: that is written before a provider is asked for anything.
package cloud
