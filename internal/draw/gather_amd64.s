#include "go_asm.h"
#include "textflag.h"

DATA lowByte<>+0(SB)/4, $255
GLOBL lowByte<>(SB), RODATA|NOPTR, $4

// func gatherAVX512(p *gatherPlan, dst *uint32)
TEXT ·gatherAVX512(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), DI
	MOVQ dst+8(FP), BX
	MOVQ gatherPlan_base(DI), SI
	MOVQ gatherPlan_vertices(DI), DX
	MOVQ gatherPlan_n(DI), CX
	MOVQ gatherPlan_table(DI), R9
	VPBROADCASTQ gatherPlan_stride(DI), Z10
	VPBROADCASTQ gatherPlan_offset(DI), Z11
	VPBROADCASTQ gatherPlan_last(DI), Z12
	VMOVQ gatherPlan_shift(DI), X13
	VPBROADCASTD lowByte<>(SB), Y14
	MOVL $-1, R8

loop:
	CMPQ CX, $8
	JGE whole
	BZHIL CX, R8, R8

whole:
	KMOVB R8, K1
	VMOVDQU32.Z (DX), K1, Y0
	VPMOVZXDQ Y0, Z0
	VPMULLQ Z10, Z0, Z0
	VPADDQ Z11, Z0, Z0
	VPCMPUQ $2, Z12, Z0, K1, K2
	VPXOR Y1, Y1, Y1
	KMOVB K2, K3
	VPGATHERQD (SI)(Z0*1), K3, Y1
	TESTQ R9, R9
	JEQ done
	VPSRLD X13, Y1, Y1
	VPAND Y14, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPGATHERDD (R9)(Y1*4), K2, Y2
	VMOVDQA Y2, Y1

done:
	VMOVDQU32 Y1, K1, (BX)
	ADDQ $32, DX
	ADDQ $32, BX
	SUBQ $8, CX
	JG loop
	VZEROUPPER
	RET
