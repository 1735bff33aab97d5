#!/usr/bin/env bash
# Fails unless a driver library exports exactly the loader's entry points: scripts/symbols.sh LIBRARY.
# Any other name could shadow one of the application's own.
set -euo pipefail

want='vk_icdGetInstanceProcAddr
vk_icdGetPhysicalDeviceProcAddr
vk_icdNegotiateLoaderICDInterfaceVersion'
# Type A is the version node itself.
got=$(nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | LC_ALL=C sort)
if [ "$got" != "$want" ]; then
	echo "symbols: $1 exports other names than the loader's three (< wanted, > exported):" >&2
	diff <(echo "$want") <(echo "$got") >&2 || exit 1
fi
