// Package schedule computes when schedules are due. Times are five fields as in cron(5), or @hourly, @daily, @weekly,
// @monthly, @yearly; in UTC, unless they begin with CRON_TZ=<zone> and a space. An hour that a zone skips has no
// moments, and one that it repeats has them twice.
package schedule
