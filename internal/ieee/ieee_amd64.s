#include "textflag.h"

// func swap(next uint32) (last uint32)
TEXT ·swap(SB), NOSPLIT, $0-12
	STMXCSR last+8(FP)
	LDMXCSR next+0(FP)
	RET
