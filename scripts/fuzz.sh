#!/usr/bin/env bash
# Runs every fuzz target in the tree for a while each: scripts/fuzz.sh 10s.
set -euo pipefail

time=${1:-10s}
targets=$(git grep -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func /:/')
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() { # run DIRECTORY TARGET
	# Where goroutines make the coverage differ from run to run, an input seems to be worth a minute's work each time.
	go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1s "./$1" </dev/null 2>&1 | tee "$log"
}
while IFS=: read -r file target; do
	directory=$(dirname "$file")
	echo "fuzz: ./$directory $target for $time"
	run "$directory" "$target" && continue
	# Now and then go test takes the end of the time for a failure, without an input that fails.
	if grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; then
		echo "fuzz: $target again: its time ended in the middle of an input"
		run "$directory" "$target"
	else
		exit 1
	fi
done <<<"$targets"
