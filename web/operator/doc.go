// Package operator has the pages for operators: hosts, pools, queues, requests, dead and parked work, tasks,
// schedules, consistency and events.
//
// Observers see the same pages without forms. The services check the rights to each form again.
package operator
