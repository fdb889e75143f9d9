#!/bin/sh
# Starts processes that do not end, as many as anybody lets it.
while :; do
	sleep 600 &
done
