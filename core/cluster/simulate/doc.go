// Package simulate replays a trace of submissions on a cluster that is not there, in virtual time: what would people
// have waited, and what would the VMs have cost, with other hosts or other settings of pools?
//
// Placement is the real one, package placement, called as overseers call it. The queue follows the scripts that claim;
// a test compares the two. What is simplified:
//
//   - Making a VM always takes the same time and never fails. It includes destroying the one before it.
//   - Claims, rounds of placement and the start of a VM take no time. Hosts do not die.
//   - Which of the hosts with a clean VM claims a request is by turns. In a cluster the fastest does.
//   - Requests never time out while they wait.
//   - Learned warm counts follow arrivals alone. A cluster with assignments also expects what is due soon.
//   - There are no leases.
//   - A host group's machines are decided on by the real package scale. Each takes the same time until its host takes
//     work, and none fails.
//
// The same trace and settings give the same report.
package simulate
