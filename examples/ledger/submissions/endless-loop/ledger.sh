#!/bin/sh
# Waits for a condition that never comes, and computes all the while.
lines=1
while [ "$lines" -gt 0 ]; do
	lines=$((lines + 1))
done
