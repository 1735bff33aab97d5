#!/usr/bin/env bash
# Fails unless the driver exports exactly the loader's entry points and the one for verbs, the library of peers in C
# exactly the functions of its header, and both the byte that tells them of each other's calls:
# scripts/symbols.sh DRIVER LIBRARY HEADER.
# Any other name could shadow one of the application's own.
set -euo pipefail

failed=0
exports() { # exports LIBRARY: standard input names the symbols
	local want got
	want=$(LC_ALL=C sort)
	# Type A is the version node itself.
	got=$(nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | LC_ALL=C sort)
	if [ "$got" != "$want" ]; then
		echo "symbols: $1 exports other names than it should (< wanted, > exported):" >&2
		diff <(echo "$want") <(echo "$got") >&2 || failed=1
	fi
}

exports "$1" <<<'farside_in_go
farside_verbs
vk_icdGetInstanceProcAddr
vk_icdGetPhysicalDeviceProcAddr
vk_icdNegotiateLoaderICDInterfaceVersion'
exports "$2" < <(echo farside_in_go; sed -nE 's/^[a-z].*\b(farside_[a-z0-9_]+)\(.*/\1/p' "$3")
exit $failed
