package redisstore

import (
	"strings"

	"drover/core"
)

// Requests of a priority wait in two lines: what is due within the hour in one of its own, whose turns come more often.
// lib/line_of.lua has the same.
const soonSuffix = "-soon"

func ownLine(p core.Priority) string { return string(p) }

func soonLine(p core.Priority) string { return string(p) + soonSuffix }

// priorityOf returns the priority whose line this is.
func priorityOf(line string) core.Priority {
	return core.Priority(strings.TrimSuffix(line, soonSuffix))
}
