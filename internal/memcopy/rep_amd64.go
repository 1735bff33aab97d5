//go:build !race

package memcopy

// repMove copies len(dst) bytes from src by REP MOVSB.
//
//go:noescape
func repMove(dst, src []byte)
