#!/bin/sh
# Fills 256 MiB, four times what the assignment allows, and keeps them.
awk 'BEGIN {
	block = "x"
	while (length(block) < 65536) block = block block
	while (n < 4096) hoard[n++] = block n
	for (;;) n = n + 1
}'
