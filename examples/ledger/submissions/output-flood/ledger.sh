#!/bin/sh
# Prints for ever.
while :; do
	echo "ann 100 ann 100 ann 100 ann 100 ann 100 ann 100 ann 100 ann 100"
done
