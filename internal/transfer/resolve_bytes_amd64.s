#include "textflag.h"

// A channel's bytes of four texels beside each other, in both halves.
DATA byChannel<>+0(SB)/8, $0x0d0905010c080400
DATA byChannel<>+8(SB)/8, $0x0f0b07030e0a0602
GLOBL byChannel<>(SB), RODATA|NOPTR, $16

// SUMS makes sums of four words in each half, by channel, of sixteen bytes. Y14 are bytes of 1, and Y15 words.
#define SUMS(v) \
	VPSHUFB Y13, v, v \
	VPMADDUBSW Y14, v, v \
	VPMADDWD Y15, v, v

// MEANS rounds and shifts sums.
#define MEANS(v) \
	VPADDD Y12, v, v \
	VPSRLD X11, v, v

// func meanBytesAVX2(dst, src *byte, n, samples int)
TEXT ·meanBytesAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ samples+24(FP), DX
	VBROADCASTI128 byChannel<>(SB), Y13
	VPCMPEQD Y15, Y15, Y15
	VPABSB Y15, Y14
	VPABSW Y15, Y15
	TZCNTQ DX, AX
	MOVQ AX, X11
	MOVQ DX, AX
	SHRQ $1, AX
	MOVQ AX, X12
	VPBROADCASTD X12, Y12
	CMPQ DX, $4
	JNE many
	SUBQ $4, CX
	JCS few

four: // texels of four samples
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	SUMS(Y0)
	SUMS(Y1)
	MEANS(Y0)
	MEANS(Y1)
	VPACKUSDW Y1, Y0, Y0
	VPACKUSWB Y0, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPUNPCKLDQ X1, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $64, SI
	ADDQ $16, DI
	SUBQ $4, CX
	JCC four

few:
	ADDQ $4, CX
	JZ end

one:
	VMOVDQU (SI), X0
	SUMS(Y0)
	ADDQ $16, SI
	MEANS(Y0)
	VPACKUSDW X0, X0, X0
	VPACKUSWB X0, X0, X0
	VMOVD X0, (DI)
	ADDQ $4, DI
	DECQ CX
	JNZ one
	JMP end

many: // eight samples at a time
	VPXOR X0, X0, X0
	MOVQ DX, BX

eight:
	VMOVDQU (SI), Y1
	SUMS(Y1)
	VPADDD Y1, Y0, Y0
	ADDQ $32, SI
	SUBQ $8, BX
	JNZ eight
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	MEANS(Y0)
	VPACKUSDW X0, X0, X0
	VPACKUSWB X0, X0, X0
	VMOVD X0, (DI)
	ADDQ $4, DI
	DECQ CX
	JNZ many

end:
	VZEROUPPER
	RET
