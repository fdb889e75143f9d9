// Package overseer heals the cluster: it is a table of chores, each with a rhythm,
// each safe to be cut short anywhere and to be done by several overseers at once.
// It runs as a daemon, or once from cron. Everything works without it except healing.
package overseer
