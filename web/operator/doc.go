// Package operator is the pages of who looks after the cluster: hosts, pools, queues, one
// request's way, what is dead or parked, tasks, schedules, consistency and events.
//
// Who may only look sees the same pages without their forms; what a form does, the
// operator of core/cluster/operate or the classes service checks again.
package operator
