#!/usr/bin/env bash
# Runs every fuzz target in the tree for a while each, as many at once as there are processors: scripts/fuzz.sh 10s.
set -euo pipefail

if [ $# = 3 ]; then # scripts/fuzz.sh TIME FILE TARGET: one of them
	time=$1 directory=$(dirname "$2") target=$3
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	run() {
		# Where goroutines make the coverage differ from run to run, an input seems to be worth a minute's work each time.
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel 1 "./$directory" \
			</dev/null >"$log" 2>&1
	}
	again='' failed=0
	run || failed=$?
	# Now and then go test takes the end of the time for a failure, without an input that fails.
	if [ $failed != 0 ] && grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; then
		again=', again, since its time ended in the middle of an input' failed=0
		run || failed=$?
	fi
	printf 'fuzz: ./%s %s for %s%s\n%s\n' "$directory" "$target" "$time" "$again" "$(cat "$log")"
	exit $failed
fi

targets=$(git grep -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func / /')
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
xargs -L 1 -P "$(nproc)" "$0" "${1:-10s}" <<<"$targets"
