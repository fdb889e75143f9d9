package resultstoretest

import "drover/core"

// Schedule makes a schedule.
func Schedule(name string) core.Schedule {
	return core.Schedule{Name: name, Cron: "17 3 * * *", Kind: core.KindPurge, Since: 5}
}
