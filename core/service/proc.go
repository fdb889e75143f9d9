package service

import (
	"bytes"
	"fmt"
	"strconv"
)

// StartTime returns when a process started, in clock ticks since the host's boot, from the text of its /proc/PID/stat.
func StartTime(stat []byte) (uint64, error) {
	const afterName, field = 3, 22 // fields are counted from 1; the name may hold spaces and brackets
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= field-afterName {
		return 0, fmt.Errorf("a stat of /proc has only %d fields", len(fields)+afterName-1)
	}
	return strconv.ParseUint(string(fields[field-afterName]), 10, 64)
}
