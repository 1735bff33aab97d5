#!/usr/bin/env bash
# Checks the rules of CONTRIBUTING.md that a machine can check.
set -euo pipefail

# Without git the lists below would be empty and every rule kept.
git ls-files --error-unmatch go.mod >/dev/null

failed=0
rule() { # rule TEXT: standard input names the offenders
	local offenders
	offenders=$(cat)
	[ -z "$offenders" ] && return
	printf 'house rule: %s\n%s\n' "$1" "$offenders" >&2
	failed=1
}

rule 'no C source outside conformance/ but the header of peers in C, what finds the engine of verbs, and macros of .s' \
	< <(git ls-files '*.c' '*.h' '*.cc' '*.cpp' |
		grep -vE '^(conformance/|cmd/libfarside_rdma/farside_rdma\.h$|cmd/libibverbs/resolve\.c$|internal/draw/[^/]+\.h$)')
rule 'import "C" only in the packages that are built with -buildmode=c-shared' \
	< <(git grep -lE '^(import )?[[:space:]]*"C"$' -- '*.go' ':!cmd/libvulkan_farside' ':!cmd/libfarside_rdma')
rule 'unsafe only in *_unsafe.go, generated files and tests' \
	< <(git grep -lE '^(import )?[[:space:]]*"unsafe"$' -- '*.go' ':!cmd/libvulkan_farside' |
		grep -vE '(_unsafe(_[a-z0-9]+)?|_test)\.go$|(^|/)zz_generated_')
rule 'no purego.NewCallback on an entry point' \
	< <(git grep -l 'purego\.NewCallback' -- 'icd/*.go' 'internal/*.go' ':!*_test.go')
go run ./scripts/rules >&2 || failed=1 # sizes: of lines, functions, files, commit subjects
rule 'no TODO, FIXME or XXX' < <(git grep -nE '\b(TODO|FIXME|XXX)\b' -- '*.go' '*.s')

# The order of the table in ARCHITECTURE.md, from its first column; a row covers the packages below it.
order=$(sed -nE 's/^\| `([a-z0-9_/]+)` \|.*/\1/p' ARCHITECTURE.md)
row() { # row PACKAGE: the number of its row
	awk -v package="${1#farside/}" '
		package == $1 || index(package, $1 "/") == 1 { print NR; found = 1; exit }
		END { if (!found) print 0 }' <<<"$order"
}
rule 'a package imports only rows above it in ARCHITECTURE.md, which names every package' < <(
	go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./... |
		grep ' farside/' | while read -r package import; do
		from=$(row "$package") to=$(row "$import")
		[ "$from" -gt "$to" ] && [ "$to" -gt 0 ] || [ "$from" -eq "$to" ] && [ "$to" -gt 0 ] ||
			echo "$package imports $import"
	done
)
exit $failed
