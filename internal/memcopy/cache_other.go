//go:build !amd64

package memcopy

import "math"

// caches has no limit: Go's copy never goes past the caches on other processors.
func caches() (first, last int) { return 0, math.MaxInt }

// repMoves says that there is no REP MOVSB.
func repMoves(_, _ int) (from, until int) { return 0, 0 }

func repMove(dst, src []byte) { copy(dst, src) }
