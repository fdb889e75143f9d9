// Package cloud makes and ends machines for host groups, with one Provider for each kind of place that has machines:
// programs of the operator, of which cmd/drover-cloud-ec2 is one, and processes of this machine. cloudtest is the suite
// that every provider and every program passes.
//
// A provider keeps no state of its own. What it did is found again by the token of an order, which is the id of an
// instance in the result store: that is written before a provider is asked for anything.
package cloud
