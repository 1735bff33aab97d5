#!/usr/bin/env bash
# Fails when the committed generated code isn't what the registry gives: scripts/generate-check.sh vk.xml.
set -euo pipefail

if ! go run ./icd/coverage | diff -u docs/COVERAGE.md - | head -n 20 >&2; then
	echo "generate-check: docs/COVERAGE.md isn't what the driver supports; run make coverage" >&2
	exit 1
fi
if ! go run ./cmd/farside env --markdown | diff -u docs/environment.md - | head -n 20 >&2; then
	echo "generate-check: docs/environment.md isn't what internal/config reads; run make docs" >&2
	exit 1
fi

registry=$1
if [ ! -f "$registry" ]; then
	if [ "${CI:-}" = true ]; then
		echo "generate-check: $registry is missing, and CI must check the generated code" >&2
		exit 1
	fi
	echo "generate-check: NOT CHECKED, there is no $registry (give another one with REGISTRY=)"
	exit
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
make generate REGISTRY="$registry" OUT="$fresh"
git ls-files '*zz_generated_*' | sort >"$fresh/committed"
(cd "$fresh" && find . -name '*zz_generated_*' -printf '%P\n' | sort) >"$fresh/generated"
if ! diff "$fresh/committed" "$fresh/generated" >&2; then
	echo "generate-check: these files (< committed, > generated) differ in being there; run make generate" >&2
	exit 1
fi
while read -r file; do
	if ! diff -u "$file" "$fresh/$file" | head -n 20 >&2; then
		echo "generate-check: $file isn't what $registry gives; run make generate" >&2
		exit 1
	fi
done <"$fresh/committed"
