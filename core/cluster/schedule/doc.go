// Package schedule says when schedules are due. Times are five fields as cron(5) has
// them, or @hourly, @daily, @weekly, @monthly, @yearly; in UTC, unless they begin with
// CRON_TZ=<zone> and a space. An hour that a zone skips has no moments, and one that it has
// twice has them twice.
package schedule
