package core

import (
	"strconv"
	"strings"
)

// units are those of sizes, each 1024 of the one before it.
var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// SizeText writes a number of bytes for people, in English: "516 B", "1.5 KiB", "64 MiB".
func SizeText(bytes int64) string {
	value, unit := SizeUnit(bytes)
	text := strconv.FormatFloat(value, 'f', SizeDigits(value), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

// SizeUnit returns a number of bytes in the largest unit of which there is at least one.
func SizeUnit(bytes int64) (value float64, unit string) {
	value = float64(bytes)
	at := 0
	for max(value, -value) >= 1024 && at < len(units)-1 {
		value, at = value/1024, at+1
	}
	return value, units[at]
}

// SizeDigits returns how many decimals of a size are worth reading.
func SizeDigits(value float64) int {
	switch value = max(value, -value); {
	case value < 10:
		return 2
	case value < 100:
		return 1
	}
	return 0
}
