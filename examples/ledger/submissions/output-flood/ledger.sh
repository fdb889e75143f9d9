#!/bin/sh
# Prints forever.
while :; do
	echo "ann 100 ann 100 ann 100 ann 100 ann 100 ann 100 ann 100 ann 100"
done
