#include "textflag.h"

// func fillWords(dst *byte, n uintptr, word uint32)
//
// Up to 128 bytes are written by stores from both ends, which meet or overlap: as n is a multiple of 4, so is
// the distance of each store. Beyond, 64 bytes at a time, and from repBytes on by REP STOSQ, which writes whole
// cache lines without reading them first.
#define repBytes 2048

TEXT ·fillWords(SB), NOSPLIT, $0-20
	MOVQ   dst+0(FP), DI
	MOVQ   n+8(FP), CX
	MOVL   word+16(FP), AX
	MOVQ   AX, X0
	PSHUFD $0, X0, X0
	LEAQ   (DI)(CX*1), DX         // the end
	CMPQ   CX, $32
	JA     over32
	MOVOU  X0, (DI)
	MOVOU  X0, -16(DX)
	RET

over32:
	CMPQ  CX, $64
	JA    over64
	MOVOU X0, (DI)
	MOVOU X0, 16(DI)
	MOVOU X0, -32(DX)
	MOVOU X0, -16(DX)
	RET

over64:
	MOVOU X0, -64(DX)
	MOVOU X0, -48(DX)
	MOVOU X0, -32(DX)
	MOVOU X0, -16(DX)
	CMPQ  CX, $repBytes
	JAE   rep
	SUBQ  $1, CX
	SHRQ  $6, CX                  // what is left but the last 64 bytes, rounded up

loop:
	MOVOU X0, (DI)
	MOVOU X0, 16(DI)
	MOVOU X0, 32(DI)
	MOVOU X0, 48(DI)
	ADDQ  $64, DI
	DECQ  CX
	JNZ   loop
	RET

rep:
	MOVOU X0, (DI)
	MOVOU X0, 16(DI)
	MOVOU X0, 32(DI)
	MOVOU X0, 48(DI)
	TESTQ $3, DI
	JNZ   store                   // a step to the boundary would shift the pattern
	ADDQ  $64, DI
	ANDQ  $~63, DI

store:
	MOVQ DX, CX
	SUBQ DI, CX
	SHRQ $3, CX                   // the stores at the end have the rest
	MOVL AX, BX
	SHLQ $32, AX
	ORQ  BX, AX
	REP; STOSQ
	RET

// func streamWords(dst *byte, n uintptr, word uint32)
//
// dst is a multiple of 64, n of 128. The stores go past the caches.
TEXT ·streamWords(SB), NOSPLIT, $0-20
	MOVQ       dst+0(FP), DI
	MOVQ       n+8(FP), CX
	MOVL       word+16(FP), AX
	MOVQ       AX, X0
	PSHUFD     $0, X0, X0
	VINSERTF128 $1, X0, Y0, Y0
	SHRQ       $7, CX

words:
	VMOVNTDQ   Y0, (DI)
	VMOVNTDQ   Y0, 32(DI)
	VMOVNTDQ   Y0, 64(DI)
	VMOVNTDQ   Y0, 96(DI)
	ADDQ       $128, DI
	DECQ       CX
	JNZ        words
	SFENCE
	VZEROUPPER
	RET

// func stream(dst, src *byte, n uintptr)
//
// dst is a multiple of 64, n of 128. The stores go past the caches. Four pages at a time keep four pages of
// memory open and four prefetchers busy; that is a tenth faster than one after the other.
TEXT ·stream(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ CX, BX
	ANDQ $16383, CX               // bytes that are not four pages
	SHRQ $14, BX
	JZ   rest

pages:
	MOVQ $64, DX

lines:
	PREFETCHT0 256(SI)
	PREFETCHT0 4352(SI)
	PREFETCHT0 8448(SI)
	PREFETCHT0 12544(SI)
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	VMOVDQU    4096(SI), Y2
	VMOVDQU    4128(SI), Y3
	VMOVDQU    8192(SI), Y4
	VMOVDQU    8224(SI), Y5
	VMOVDQU    12288(SI), Y6
	VMOVDQU    12320(SI), Y7
	VMOVNTDQ   Y0, (DI)
	VMOVNTDQ   Y1, 32(DI)
	VMOVNTDQ   Y2, 4096(DI)
	VMOVNTDQ   Y3, 4128(DI)
	VMOVNTDQ   Y4, 8192(DI)
	VMOVNTDQ   Y5, 8224(DI)
	VMOVNTDQ   Y6, 12288(DI)
	VMOVNTDQ   Y7, 12320(DI)
	ADDQ       $64, DI
	ADDQ       $64, SI
	DECQ       DX
	JNZ        lines
	ADDQ       $12288, DI
	ADDQ       $12288, SI
	DECQ       BX
	JNZ        pages

rest:
	SHRQ $7, CX
	JZ   done

row:
	PREFETCHT0 1024(SI)
	PREFETCHT0 1088(SI)
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	VMOVDQU    64(SI), Y2
	VMOVDQU    96(SI), Y3
	VMOVNTDQ   Y0, (DI)
	VMOVNTDQ   Y1, 32(DI)
	VMOVNTDQ   Y2, 64(DI)
	VMOVNTDQ   Y3, 96(DI)
	ADDQ       $128, DI
	ADDQ       $128, SI
	DECQ       CX
	JNZ        row

done:
	SFENCE                        // what comes after must see what was written past the caches
	VZEROUPPER
	RET
