package core_test

import (
	"testing"

	"drover/core"

	"github.com/stretchr/testify/assert"
)

func TestSizeText(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		0: "0 B", 516: "516 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 67108864: "64 MiB", 4247781: "4.05 MiB",
		-2048: "-2 KiB", 1 << 40: "1 TiB", 1<<63 - 1: "8 EiB",
	} {
		assert.Equal(t, want, core.SizeText(bytes))
	}
}
