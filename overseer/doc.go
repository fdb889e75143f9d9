// Package overseer heals the cluster by a table of chores, each with an interval. A chore may be interrupted at any
// point, and several overseers may run at once. The overseer is a daemon, or is run by cron. Without one everything
// works except healing.
package overseer
