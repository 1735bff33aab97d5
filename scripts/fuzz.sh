#!/usr/bin/env bash
# Runs every fuzz target in the tree for a while each: scripts/fuzz.sh 10s.
set -euo pipefail

time=${1:-10s}
targets=$(git grep -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func /:/')
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
while IFS=: read -r file target; do
	echo "fuzz: ./$(dirname "$file") $target for $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")" </dev/null
done <<<"$targets"
