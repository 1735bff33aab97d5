// The body of a function that does the steps of a rowPlan: once for vectors of 256 bits, once for those of 512. V0 to
// V3 are free, V4 is zero; V8 to V13 have the step's numbers. DI has the plan, SI the step, CX how many are left, and
// R8 the bytes of the rows that are worked on. R9 has the row of the result, AX, BX, DX and R10 those of the operands,
// and R11 how far the step has come.

	MOVQ p+0(FP), DI
	MOVQ lanes+8(FP), R8
	SHLQ $2, R8
	MOVQ rowPlan_steps(DI), SI
	MOVQ (rowPlan_steps+8)(DI), CX
	VXORPS X4, X4, X4
	PREPARE

again:
	SUBQ $1, CX
	JCS end
	MOVBLZX step_op(SI), R12
	ROW(step_to, R9)
	ROW(step_a, AX)
	ROW(step_b, BX)
	ROW(step_c, DX)
	ROW(step_d, R10)
	NUMBER(0, V8)
	NUMBER(1, V9)
	NUMBER(2, V10)
	NUMBER(3, V11)
	NUMBER(4, V12)
	NUMBER(5, V13)
	XORL R11, R11
	IS($const_stepAdd, add)
	IS($const_stepClamp, clamp)
	IS($const_stepUnorm, unorm)
	IS($const_stepToFixed, toFixed)
	IS($const_stepRest, rest)
	IS($const_stepHalf, half)
	IS($const_stepToHalf, toHalf)
	IS($const_stepToSingle, toSingle)
	IS($const_stepToSmall, toSmall)
	IS($const_stepLinear, linear)
	IS($const_stepToSRGB, toSRGB)
	IS($const_stepToUint, toUint)
	IS($const_stepToSint, toSint)
	IS($const_stepMerge, merge)
	IS($const_stepSnorm, snorm)
	IS($const_stepSubtract, subtract)
	IS($const_stepMin, least)
	IS($const_stepMax, greatest)

done:
	ADDQ $step__size, SI
	JMP again

end:
	VZEROUPPER
	RET

add:
	LOAD(AX, V0)
	VMULPS (BX)(R11*1), V0, V0
	LOAD(DX, V1)
	VMULPS (R10)(R11*1), V1, V1
	VADDPS V1, V0, V0
	NEXT(add)

subtract:
	LOAD(AX, V0)
	VMULPS (BX)(R11*1), V0, V0
	LOAD(DX, V1)
	VMULPS (R10)(R11*1), V1, V1
	VSUBPS V1, V0, V0
	NEXT(subtract)

least:
	LOAD(AX, V1)
	LOAD(BX, V2)
	VMINPS V2, V1, V0
	MATCH($3, V2, V2)
	PICK(V1, V0)
	NEXT(least)

greatest:
	LOAD(AX, V1)
	LOAD(BX, V2)
	VMAXPS V2, V1, V0
	MATCH($3, V2, V2)
	PICK(V1, V0)
	NEXT(greatest)

rest:
	VMOVUPS CONSTANT(const_constantOne), V1
	VSUBPS (AX)(R11*1), V1, V0
	NEXT(rest)

clamp:
	LOAD(AX, V0)
	CLAMPED
	NEXT(clamp)

unorm: // the sum of both products is the quotient, rounded once
	LOAD(AX, V0)
	VPSLLVD V8, V0, V0
	VPSRLVD V9, V0, V0
	VCVTDQ2PS V0, V1
	VMULPS V11, V1, V0
	VFMADD231PS V10, V1, V0
	NEXT(unorm)

snorm:
	LOAD(AX, V0)
	VPSLLVD V8, V0, V0
	VPSRAVD V9, V0, V0
	VCVTDQ2PS V0, V1
	VMULPS V11, V1, V0
	VFMADD231PS V10, V1, V0
	VMAXPS V12, V0, V0
	NEXT(snorm)

half:
	LOAD(AX, V0)
	VPSLLVD V8, V0, V0
	VPSRLVD V9, V0, V0
	VPSLLVD V10, V0, V0
	SINGLES
	NEXT(half)

linear:
	MOVQ rowPlan_linear(DI), BX

linearAgain:
	LOAD(AX, V0)
	VPSLLVD V8, V0, V0
	VPSRLVD V9, V0, V1
	LOOKUP(BX, V1, V0)
	NEXT(linearAgain)

toFixed: // the number plus a half, rounded down, without any other rounding
	LOAD(AX, V0)
	CLAMPED
	VMULPS V10, V0, V1
	FLOOR(V1)
	VADDPS CONSTANT(const_constantHalf), V1, V2
	VFMSUB213PS V2, V10, V0
	VCVTPS2DQ V1, V1
	MATCH($13, V4, V0)
	COUNT(V1)
	AND(V11, V1, V1)
	VPSLLVD V12, V1, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toFixed)

toHalf:
	LOAD(AX, V0)
	QUIET
	HALVES
	VPSLLVD V9, V0, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toHalf)

toSingle:
	LOAD(AX, V0)
	QUIET
	NEXT(toSingle)

// Floats without a sign, as texel.Codec has them. The numbers are:
//   - a float whose last bit is worth as much as that of those below the normal ones: the sum of both is rounded to it
//   - what to subtract from the bits of normal ones, which rounds them, too
//   - how far these are shifted then
//   - the largest finite number, NaN, and the channel's first bit
toSmall:
	LOAD(AX, V0)
	MATCH($3, V0, V0)
	MOVE(V12, V3)
	KEEP(V3)
	VMAXPS V4, V0, V0
	VADDPS V8, V0, V1
	VPSUBD V8, V1, V1
	VPSRLVD V10, V0, V2
	AND(CONSTANT(const_constantBit), V2, V2)
	VPADDD V0, V2, V2
	VPSUBD V9, V2, V2
	VPSRLVD V10, V2, V2
	MATCH($13, CONSTANT(const_constantNormal), V0)
	PICK(V2, V1)
	VPMINUD V11, V1, V1
	MATCH($0, CONSTANT(const_constantInfinity), V0)
	COUNT(V1)
	OR(V3, V1, V0)
	VPSLLVD V13, V0, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toSmall)

toSRGB: // as texel.SRGB8 has it
	MOVQ rowPlan_firsts(DI), DX
	MOVQ rowPlan_thresholds(DI), R10

toSRGBAgain:
	LOAD(AX, V0)
	CLAMPED
	VMULPS V10, V0, V1
	VCVTTPS2DQ V1, V1
	LOOKUP(DX, V1, V2)
	LOOKUP(R10, V2, V1)
	MATCH($2, V0, V1)
	COUNT(V2)
	VPSLLVD V11, V2, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toSRGBAgain)

toUint:
	LOAD(AX, V0)
	VPMINUD V8, V0, V0
	VPSLLVD V9, V0, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toUint)

toSint:
	LOAD(AX, V0)
	VPMINSD V8, V0, V0
	VPMAXSD V9, V0, V0
	AND(V10, V0, V0)
	VPSLLVD V11, V0, V0
	OR((BX)(R11*1), V0, V0)
	NEXT(toSint)

merge:
	LOAD(AX, V0)
	LOAD(BX, V1)
	XOR(V1, V0, V0)
	AND(V8, V0, V0)
	XOR(V1, V0, V0)
	NEXT(merge)
