#!/usr/bin/env bash
# Makes a tarball and a .deb of Farside for each architecture: scripts/dist.sh ARCHITECTURE... (amd64, arm64)
#
# The same source gives the same bytes, wherever it lies, with the same Go, C compiler and linker. VERSION and COMMIT
# are in the packages. SOURCE_DATE_EPOCH is the time of all files, that of the last commit if it isn't set.
set -euo pipefail
cd "$(dirname "$0")/.."

: "${VERSION:?}" "${COMMIT:?}"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) || {
		echo 'dist: this is no checkout: set SOURCE_DATE_EPOCH to the time of its files, in seconds since 1970' >&2
		exit 1
	}
fi
# Without the build id, which is about directories; the linker makes one of the content.
strip='-s -w -buildid='
declare -A compilers=([amd64]=x86_64-linux-gnu-gcc [arm64]=aarch64-linux-gnu-gcc)

out=build/dist
rm -rf "$out"
mkdir -p "$out"
go build -C packaging -o "../$out/stage/packaging" .
for arch; do
	[ -n "${compilers[$arch]:-}" ] || {
		echo "dist: there are packages for amd64 and arm64, not for $arch" >&2
		exit 2
	}
	echo "dist: $arch: building, which takes minutes the first time"
	work=$out/stage/$arch
	GOOS=linux GOARCH=$arch GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=1 CC=${compilers[$arch]} \
		make binaries BUILD="$work/build" STRIP="$strip" VERSION="$VERSION" COMMIT="$COMMIT" >/dev/null
	echo "dist: $arch: packaging"
	go run -ldflags="-X main.version=$VERSION" ./cmd/farside install --package "$arch" --from "$work/build" \
		--prefix / --destdir "$work/tree" >/dev/null
	"$out/stage/packaging" -tree "$work/tree" -source . -arch "$arch" -version "$VERSION" -commit "$COMMIT" \
		-epoch "$SOURCE_DATE_EPOCH" -out "$out" | sed 's/^/dist: /'
done
rm -rf "$out/stage"
(cd "$out" && sha256sum -- *.deb *.tar.gz >SHA256SUMS)
echo "dist: $out/SHA256SUMS has the sums"
