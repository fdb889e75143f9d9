package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// Processors is what the kernel has counted of all processors together since its start, in ms.
type Processors struct {
	Busy   int64 // somebody used them
	Stolen int64 // the hypervisor took them
	Total  int64
}

// ReadProcessors reads the first line of /proc/stat. Its numbers are hundredths of a second: user, nice, system, idle,
// waiting for disks, two kinds of interrupts, stolen.
func ReadProcessors(text []byte) (p Processors, ok bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	const idle, disks, stolen, tick = 3, 4, 7, 10
	words := strings.Fields(string(line))
	if len(words) <= 1+stolen || words[0] != "cpu" {
		return Processors{}, false
	}
	for i, word := range words[1 : 2+stolen] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Processors{}, false
		}
		p.Total += n * tick
		switch i {
		case idle, disks:
		case stolen:
			p.Stolen = n * tick
		default:
			p.Busy += n * tick
		}
	}
	return p, true
}
