while :; do sleep 600 & done
