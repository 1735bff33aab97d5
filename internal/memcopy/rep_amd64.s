//go:build !race

#include "textflag.h"

// func repMove(dst, src []byte)
TEXT ·repMove(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	REP; MOVSB
	RET
