#include "textflag.h"

// The instructions are SSE2, which every amd64 processor has.

// func mixColumns8x4(dst []uint64, src []byte, pairs []pair)
TEXT ·mixColumns8x4(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ pairs_base+48(FP), BX
	MOVQ pairs_len+56(FP), CX
	PXOR X7, X7
	SUBQ $2, CX
	JLT  done

columns: // two at a time
	MOVL       (BX), AX
	MOVL       8(BX), DX
	MOVQ       (SI)(AX*1), X0 // two texels of four bytes
	MOVQ       (SI)(DX*1), X1
	MOVL       4(BX), X2      // two weights of two bytes
	MOVL       12(BX), X3
	PUNPCKLBW  X7, X0         // bytes to words
	PUNPCKLBW  X7, X1
	PSHUFLW    $0x50, X2, X2  // each weight four times
	PSHUFLW    $0x50, X3, X3
	PSHUFD     $0x50, X2, X2
	PSHUFD     $0x50, X3, X3
	PMULLW     X2, X0
	PMULLW     X3, X1
	MOVO       X0, X4
	PUNPCKLQDQ X1, X0         // the left texels of both columns
	PUNPCKHQDQ X1, X4         // the right ones
	PADDW      X4, X0
	MOVOU      X0, (DI)
	ADDQ       $16, BX
	ADDQ       $16, DI
	SUBQ       $2, CX
	JGE        columns

done:
	RET

// func mixGroups8x4(dst []byte, u, v []uint64, weightU, weightV uint32)
TEXT ·mixGroups8x4(SB), NOSPLIT, $0-80
	MOVQ    dst_base+0(FP), DI
	MOVQ    dst_len+8(FP), CX
	MOVQ    u_base+24(FP), SI
	MOVQ    v_base+48(FP), BX
	MOVL    weightU+72(FP), X6
	MOVL    weightV+76(FP), X7
	PSHUFLW $0, X6, X6
	PSHUFLW $0, X7, X7
	PSHUFD  $0, X6, X6
	PSHUFD  $0, X7, X7
	PCMPEQW X5, X5         // 128 in each word, to round
	PSRLW   $15, X5
	PSLLW   $7, X5
	SUBQ    $16, CX
	JLT     done

groups:
	MOVOU    (SI), X0
	MOVOU    16(SI), X1
	MOVOU    (BX), X2
	MOVOU    16(BX), X3
	PMULHUW  X6, X0
	PMULHUW  X6, X1
	PMULHUW  X7, X2
	PMULHUW  X7, X3
	PADDW    X2, X0
	PADDW    X3, X1
	PADDW    X5, X0
	PADDW    X5, X1
	PSRLW    $8, X0
	PSRLW    $8, X1
	PACKUSWB X1, X0
	MOVOU    X0, (DI)
	ADDQ     $32, SI
	ADDQ     $32, BX
	ADDQ     $16, DI
	SUBQ     $16, CX
	JGE      groups

done:
	RET

// func mixColumnsLanes(dst, src []uint64, pairs []pair)
TEXT ·mixColumnsLanes(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ pairs_base+48(FP), BX
	MOVQ pairs_len+56(FP), CX
	SUBQ $2, CX
	JLT  done

columns: // two at a time
	MOVL       (BX), AX
	MOVL       8(BX), DX
	MOVOU      (SI)(AX*1), X0 // two texels of four words
	MOVOU      (SI)(DX*1), X1
	MOVL       4(BX), X2      // two weights
	MOVL       12(BX), X3
	PSHUFLW    $0x50, X2, X2  // each four times
	PSHUFLW    $0x50, X3, X3
	PSHUFD     $0x50, X2, X2
	PSHUFD     $0x50, X3, X3
	PMULHUW    X2, X0
	PMULHUW    X3, X1
	MOVO       X0, X4
	PUNPCKLQDQ X1, X0         // the left texels of both columns
	PUNPCKHQDQ X1, X4         // the right ones
	PADDW      X4, X0
	MOVOU      X0, (DI)
	ADDQ       $16, BX
	ADDQ       $16, DI
	SUBQ       $2, CX
	JGE        columns

done:
	RET

// func mixRowsLanes(dst, u, v []uint64, weightU, weightV uint32)
TEXT ·mixRowsLanes(SB), NOSPLIT, $0-80
	MOVQ    dst_base+0(FP), DI
	MOVQ    dst_len+8(FP), CX
	MOVQ    u_base+24(FP), SI
	MOVQ    v_base+48(FP), BX
	MOVL    weightU+72(FP), X6
	MOVL    weightV+76(FP), X7
	PSHUFLW $0, X6, X6
	PSHUFLW $0, X7, X7
	PSHUFD  $0, X6, X6
	PSHUFD  $0, X7, X7
	SUBQ    $2, CX
	JLT     done

texels: // two at a time
	MOVOU   (SI), X0
	MOVOU   (BX), X1
	PMULHUW X6, X0
	PMULHUW X7, X1
	PADDW   X1, X0
	MOVOU   X0, (DI)
	ADDQ    $16, SI
	ADDQ    $16, BX
	ADDQ    $16, DI
	SUBQ    $2, CX
	JGE     texels

done:
	RET
