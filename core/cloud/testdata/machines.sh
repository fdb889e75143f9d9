#!/bin/sh
# An operator's program in small: a folder has the machines, as one file for each. Called as machines.sh FOLDER.
set -eu
[ "$DROVER_PROTOCOL" = 1 ] || { echo "it speaks protocol 1 only" >&2; exit 76; }
cd "$1"
file="$DROVER_CLUSTER.$DROVER_INSTANCE"
said=$(cat) # the order
case "$DROVER_OP" in
create)
  case "$DROVER_TYPE" in full) echo "no room" >&2; exit 69 ;; wrong) exit 65 ;; forbidden) exit 77 ;; broken) exit 1 ;; slow) sleep 1000 & wait ;; esac
  made=$(mktemp new.XXXXXX)
  env | sort >"$made.env"
  echo "$said" >"$made.said"
  printf '{"machine":"m-%s","instance":"%s","cluster":"%s","group":"%s","created_ms":1}\n' \
    "$file" "$DROVER_INSTANCE" "$DROVER_CLUSTER" "$DROVER_GROUP" >"$made"
  ln "$made" "$file" 2>/dev/null || true # one of those who try at once makes it
  rm "$made"
  printf '{"protocol":1,"machine":"m-%s"}\n' "$file"
  ;;
terminate)
  rm -f "$file"
  echo '{"protocol":1}'
  ;;
list)
  echo '{"protocol":1}'
  for one in *.*-*; do
    case "$one" in new.*) ;; *) test ! -f "$one" || cat "$one" ;; esac
  done
  ;;
*) echo "$DROVER_OP is nothing to do" >&2; exit 64 ;;
esac
