#!/bin/sh
# Runs an autograder of Gradescope where it expects to be, and prints the results.json that it writes.
set -u
fail() {
	echo "$*" >&2
	exit 1
}
at=/tmp/autograder
[ "$(readlink /autograder)" = "$at" ] || fail "VMs of this pool have no /autograder: they need an image that was built for this autograder"
input=$(cat)
field() {
	printf '%s' "$input" | sed -n "s/.*\"$1\":{[^{}]*\"$2\":\(\"\([^\"\\\\]\|\\\\.\)*\"\).*/\1/p"
}
rm -rf "$at"
mkdir -p "$at/source" "$at/submission" "$at/results" || fail "$at cannot be made"
if [ -d /usr/lib/autograder ]; then # what setup.sh left
	cp -R /usr/lib/autograder/. "$at/" || fail "$at cannot be filled"
fi
cp -R "$DROVER_HARNESS/source/." "$at/source/" && cp -R "$DROVER_SUBMISSION/." "$at/submission/" &&
	cp "$at/source/run_autograder" "$at/run_autograder" && chmod 755 "$at/run_autograder" || fail "$at cannot be filled"
id=$(field raw_submission id) user=$(field raw_submission user) created=$(field raw_submission timestamp)
name=$(field raw_assignment id) title=$(field raw_assignment name) due=$(field raw_assignment due)
late=$(field raw_assignment due_cutoff) release=$(field raw_assignment hide_until)
case $name in */*) course="${name%%/*}\"" ;; *) course= ;; esac
dates="\"release_date\": ${release:-null}, \"due_date\": ${due:-null}, \"late_due_date\": ${late:-null}"
cat >"$at/submission_metadata.json" <<END
{"id": ${id:-null}, "created_at": ${created:-null}, "submission_method": "upload", "previous_submissions": [],
"assignment": {"id": ${name:-null}, "course_id": ${course:-null}, "title": ${title:-null}, $dates,
"group_size": null, "group_submission": false, "total_points": null, "outline": []},
"users": [{"id": ${user:-null}, "name": ${user:-null}, "email": ${user:-null}, "sections": [], "assignment": {$dates}}]}
END
cd /autograder || fail "/autograder cannot be entered"
./run_autograder >results/stdout 2>&1 </dev/null
code=$?
head -c 200000 results/stdout >&2
[ -f results/results.json ] || fail "run_autograder ended with exit code $code and wrote no results.json"
cat results/results.json
