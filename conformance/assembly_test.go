package conformance

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"farside/conformance/shaders"
)

// An age says which of Debian 12's programs do not know a row's extension: the validation layer, or SPIRV-Tools too.
type age int

const (
	newerThanLayer age = iota + 1
	newerThanTools
)

// An assemblyRow is an expression in SPIR-V text: parts of shaders/spirv/expression.spvasm, and what it is worth.
type assemblyRow struct {
	name  string
	parts map[string]string
	want  func(a, b, c uint32) uint32
	small bool // values are small
	float bool // values are bits of floats of middling size
	needs []string

	wantAt func(i uint32) uint32 // instead of want: by the invocation's number
	newer  age                   // than what Debian 12 has
}

func body(text string) map[string]string { return map[string]string{"BODY": text} }

func f32(x uint32) float32    { return math.Float32frombits(x) }
func bits32(x float32) uint32 { return math.Float32bits(x) }

var assemblyRows = []assemblyRow{
	{name: "opsrem", parts: body("%b1 = OpBitwiseOr %uint %b %u1\n%q = OpSRem %uint %a %b1\n%r = OpCopyObject %uint %q"),
		want: func(a, b, _ uint32) uint32 { return uint32(int32(int64(int32(a)) % int64(int32(b|1)))) }},
	{name: "opsmod", parts: body("%b1 = OpBitwiseOr %uint %b %u1\n%r = OpSMod %uint %a %b1"),
		want: func(a, b, _ uint32) uint32 {
			x, y := int64(int32(a)), int64(int32(b|1))
			m := x % y
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return uint32(m)
		}},
	{name: "opsdiv_unsigned_operands",
		parts: body("%b1 = OpBitwiseOr %uint %b %u1\n%b2 = OpBitwiseAnd %uint %b1 %u31\n%r = OpSDiv %uint %a %b2"),
		want:  func(a, b, _ uint32) uint32 { return uint32(int32(a) / int32((b|1)&31)) }},
	// By a power of two, so that the quotient is exact; a zero may have either sign.
	{name: "opfrem", float: true, parts: map[string]string{"DECLARATIONS": `
%zero = OpConstant %float 0
%exponent = OpConstant %uint 0xff800000`, "BODY": `
%bp = OpBitwiseAnd %uint %b %exponent
%fp = OpBitcast %float %bp
%q = OpFRem %float %fa %fp
%p = OpFAdd %float %q %zero
%r = OpBitcast %uint %p`}, want: func(a, b, _ uint32) uint32 {
		return bits32(float32(math.Mod(float64(f32(a)), float64(f32(b&0xff800000)))) + 0)
	}},
	{name: "opphi", parts: body(`
%odd = OpBitwiseAnd %uint %a %u1
%is = OpINotEqual %bool %odd %u0
OpSelectionMerge %merge None
OpBranchConditional %is %then %else
%then = OpLabel
%x = OpIAdd %uint %b %u7
OpBranch %merge
%else = OpLabel
%y = OpIMul %uint %c %u3
OpBranch %merge
%merge = OpLabel
%r = OpPhi %uint %x %then %y %else`), want: func(a, b, c uint32) uint32 {
		if a&1 != 0 {
			return b + 7
		}
		return c * 3
	}},
	{name: "opphi_swap", parts: body(`
%n = OpBitwiseAnd %uint %c %u31
OpBranch %header
%header = OpLabel
%x = OpPhi %uint %a %entry %y %continue
%y = OpPhi %uint %b %entry %x %continue
%k = OpPhi %uint %u0 %entry %k1 %continue
%go = OpULessThan %bool %k %n
OpLoopMerge %done %continue None
OpBranchConditional %go %continue %done
%continue = OpLabel
%k1 = OpIAdd %uint %k %u1
OpBranch %header
%done = OpLabel
%twice = OpIMul %uint %y %u2
%r = OpISub %uint %x %twice`), want: func(a, b, c uint32) uint32 {
		if c&1 != 0 {
			a, b = b, a
		}
		return a - 2*b
	}},
	{name: "opswitch_negative_literals", parts: body(`
%s = OpBitcast %int %a
OpSelectionMerge %merge None
OpSwitch %s %default -1 %one -2147483648 %one 2147483647 %two 0 %merge
%one = OpLabel
OpBranch %two
%two = OpLabel
%p = OpPhi %uint %b %one %c %entry
OpBranch %merge
%default = OpLabel
OpBranch %merge
%merge = OpLabel
%r = OpPhi %uint %p %two %u7 %default %u31 %entry`), want: func(a, b, c uint32) uint32 {
		switch int32(a) {
		case -1, math.MinInt32:
			return b
		case math.MaxInt32:
			return c
		case 0:
			return 31
		}
		return 7
	}},
	{name: "opvectorshuffle", parts: body(`
%v = OpCompositeConstruct %uvec2 %a %b
%w = OpCompositeConstruct %uvec3 %c %a %b
%s = OpVectorShuffle %uvec4 %v %w 3 1 0xFFFFFFFF 2
%x = OpCompositeExtract %uint %s 0
%y = OpCompositeExtract %uint %s 1
%z = OpCompositeExtract %uint %s 3
%xy = OpBitwiseXor %uint %x %y
%r = OpISub %uint %xy %z`), want: func(a, b, c uint32) uint32 { return (a ^ b) - c }},
	{name: "opcompositeinsert", parts: map[string]string{"DECLARATIONS": `
%arr = OpTypeArray %uvec2 %u3
%st = OpTypeStruct %uint %arr
%null = OpConstantNull %st`, "BODY": `
%s1 = OpCompositeInsert %st %a %null 1 2 0
%s2 = OpCompositeInsert %st %b %s1 0
%v = OpCompositeConstruct %uvec2 %c %a
%s3 = OpCompositeInsert %st %v %s2 1 0
%e0 = OpCompositeExtract %uint %s3 1 2 0
%e1 = OpCompositeExtract %uvec2 %s3 1 0
%e2 = OpCompositeExtract %uint %e1 0
%e3 = OpCompositeExtract %uint %s3 1 1 1
%x = OpISub %uint %e0 %e2
%y = OpIAdd %uint %x %e3
%z = OpCompositeExtract %uint %s3 0
%r = OpIMul %uint %y %z`}, want: func(a, b, c uint32) uint32 { return (a - c) * b }},
	{name: "opvectorextractdynamic", parts: body(`
%v = OpCompositeConstruct %uvec4 %a %b %c %u7
%k = OpUMod %uint %b %u4
%x = OpVectorExtractDynamic %uint %v %k
%w = OpVectorInsertDynamic %uvec4 %v %u31 %k
%y = OpCompositeExtract %uint %w 1
%r = OpIAdd %uint %x %y`), want: func(a, b, c uint32) uint32 {
		v := [4]uint32{a, b, c, 7}
		x := v[b%4]
		v[b%4] = 31
		return x + v[1]
	}},
	{name: "opundef", parts: body(`
%un = OpUndef %uint
%z = OpBitwiseAnd %uint %un %u0
%r = OpIAdd %uint %z %a`), want: func(a, _, _ uint32) uint32 { return a }},
	{name: "opselect_vector", parts: map[string]string{"DECLARATIONS": "%bvec2 = OpTypeVector %bool 2", "BODY": `
%v = OpCompositeConstruct %uvec2 %a %b
%w = OpCompositeConstruct %uvec2 %b %c
%s = OpULessThan %bvec2 %v %w
%t = OpSelect %uvec2 %s %v %w
%x = OpCompositeExtract %uint %t 0
%y = OpCompositeExtract %uint %t 1
%r = OpBitwiseXor %uint %x %y`}, want: func(a, b, c uint32) uint32 { return min(a, b) ^ min(b, c) }},
	{name: "opundef_unused", parts: map[string]string{"DECLARATIONS": `
%img = OpTypeImage %float 2D 0 0 0 1 Unknown
%sampler = OpTypeSampler`, "BODY": `
%un1 = OpUndef %img
%un2 = OpUndef %sampler
%un3 = OpUndef %words
%r = OpIAdd %uint %a %b`}, want: func(a, b, _ uint32) uint32 { return a + b }},
	{name: "opcopymemory", parts: map[string]string{"VARIABLES": `
%v1 = OpVariable %f_uint Function
%v2 = OpVariable %f_uint Function %u7`, "BODY": `
OpCopyMemory %v1 %pb
%x = OpLoad %uint %v1
OpCopyMemory %v1 %v2
%y = OpLoad %uint %v1
%r = OpIAdd %uint %x %y`}, want: func(_, b, _ uint32) uint32 { return b + 7 }},
	{name: "oparraylength", parts: body("%n = OpArrayLength %uint %in 0\n%r = OpIAdd %uint %n %a"),
		want: func(a, _, _ uint32) uint32 { return a + assemblyTriples*3 }},
	{name: "function_pointers", parts: map[string]string{"DECLARATIONS": "%pfn = OpTypeFunction %uint %f_uint %uint",
		"FUNCTIONS": `
%swap = OpFunction %uint None %pfn
%where = OpFunctionParameter %f_uint
%what = OpFunctionParameter %uint
%sl = OpLabel
%old = OpLoad %uint %where
%big = OpUGreaterThan %bool %old %what
OpSelectionMerge %sm None
OpBranchConditional %big %st %sm
%st = OpLabel
OpStore %where %what
OpReturnValue %u1
%sm = OpLabel
OpReturnValue %old
OpFunctionEnd`, "VARIABLES": "%v1 = OpVariable %f_uint Function", "BODY": `
OpStore %v1 %a
%x = OpFunctionCall %uint %swap %v1 %b
%y = OpFunctionCall %uint %swap %v1 %c
%z = OpLoad %uint %v1
%xy = OpBitwiseXor %uint %x %y
%r = OpBitwiseXor %uint %xy %z`}, want: func(a, b, c uint32) uint32 {
		swap := func(old *uint32, what uint32) uint32 {
			if *old > what {
				*old = what
				return 1
			}
			return *old
		}
		x := swap(&a, b)
		y := swap(&a, c)
		return x ^ y ^ a
	}},
	{name: "opunreachable", parts: body(`
%z = OpBitwiseAnd %uint %a %u0
%is = OpIEqual %bool %z %u0
OpSelectionMerge %dead None
OpBranchConditional %is %good %bad
%bad = OpLabel
OpUnreachable
%good = OpLabel
%po2 = OpAccessChain %p_uint %out %u0 %i
OpStore %po2 %b
OpReturn
%dead = OpLabel
%r = OpIAdd %uint %u0 %u0`), want: func(_, b, _ uint32) uint32 { return b }},
	{name: "unordered_compare", parts: map[string]string{"DECLARATIONS": `
%zero = OpConstant %float 0
%two = OpConstant %uint 2`, "BODY": `
%c1 = OpFUnordLessThan %bool %fa %fb
%c2 = OpFUnordEqual %bool %fa %fb
%c3 = OpFUnordGreaterThanEqual %bool %fa %fc
%c4 = OpFOrdNotEqual %bool %fb %fc
%r1 = OpSelect %uint %c1 %u1 %u0
%r2 = OpSelect %uint %c2 %u2 %u0
%r3 = OpSelect %uint %c3 %u4 %u0
%r4 = OpSelect %uint %c4 %u31 %u0
%s1 = OpIAdd %uint %r1 %r2
%s2 = OpIAdd %uint %s1 %r3
%r = OpIAdd %uint %s2 %r4`}, float: true, want: func(a, b, c uint32) uint32 {
		x, y, z := f32(a), f32(b), f32(c)
		return truth[uint32](x < y) + 2*truth[uint32](x == y) + 4*truth[uint32](x >= z) + 31*truth[uint32](y != z)
	}},
	{name: "ext_nmin_nmax_nclamp", float: true, parts: body(`
%x = OpExtInst %float %std NMin %fa %fb
%y = OpExtInst %float %std NMax %fb %fc
%lo = OpExtInst %float %std FMin %fa %fc
%hi = OpExtInst %float %std FMax %fa %fc
%z = OpExtInst %float %std NClamp %fb %lo %hi
%ux = OpBitcast %uint %x
%uy = OpBitcast %uint %y
%uz = OpBitcast %uint %z
%xy = OpIMul %uint %ux %uy
%r = OpIAdd %uint %xy %uz`), want: func(a, b, c uint32) uint32 {
		x, y, z := f32(a), f32(b), f32(c)
		return bits32(min(x, y))*bits32(max(y, z)) + bits32(min(max(y, min(x, z)), max(x, z)))
	}},
	{name: "ext_struct_results", float: true,
		parts: map[string]string{"DECLARATIONS": "%fr = OpTypeStruct %float %int\n%mo = OpTypeStruct %float %float", "BODY": `
%x = OpExtInst %fr %std FrexpStruct %fa
%y = OpExtInst %mo %std ModfStruct %fb
%x0 = OpCompositeExtract %float %x 0
%x1 = OpCompositeExtract %int %x 1
%y0 = OpCompositeExtract %float %y 0
%y1 = OpCompositeExtract %float %y 1
%b0 = OpBitcast %uint %x0
%b1 = OpBitcast %uint %x1
%b2 = OpBitcast %uint %y0
%b3 = OpBitcast %uint %y1
%s1 = OpBitwiseXor %uint %b0 %b1
%s2 = OpIAdd %uint %b2 %b3
%r = OpIAdd %uint %s1 %s2`}, want: func(a, b, _ uint32) uint32 {
			m, e := math.Frexp(float64(f32(a)))
			w := math.Trunc(float64(f32(b)))
			fraction := math.Copysign(float64(f32(b))-w, float64(f32(b)))
			return (bits32(float32(m)) ^ uint32(e)) + bits32(float32(fraction)) + bits32(float32(w))
		}},
	{name: "ext_ldexp_int64", float: true, needs: []string{"ShaderInt64"}, parts: map[string]string{
		"CAPABILITIES": "OpCapability Int64", "DECLARATIONS": "%long = OpTypeInt 64 1", "BODY": `
%n = OpBitwiseAnd %uint %b %u31
%signed = OpBitcast %int %n
%wide = OpSConvert %long %signed
%x = OpExtInst %float %std Ldexp %fa %wide
%r = OpBitcast %uint %x`}, want: func(a, b, _ uint32) uint32 {
		return bits32(float32(math.Ldexp(float64(f32(a)), int(b&31))))
	}},
	{name: "opquantizetof16", float: true, parts: body("%q = OpQuantizeToF16 %float %fa\n%r = OpBitcast %uint %q"),
		want: func(a, _, _ uint32) uint32 {
			return bits32(float32(fromHalf(toHalf(float64(f32(a))))))
		}},
	{name: "opsmulextended", parts: map[string]string{"DECLARATIONS": "%pair = OpTypeStruct %uint %uint", "BODY": `
%x = OpSMulExtended %pair %a %b
%h = OpCompositeExtract %uint %x 1
%l = OpCompositeExtract %uint %x 0
%y = OpIAddCarry %pair %l %c
%k = OpCompositeExtract %uint %y 1
%r = OpIAdd %uint %h %k`}, want: func(a, b, c uint32) uint32 {
		p := uint64(int64(int32(a)) * int64(int32(b)))
		return uint32(p>>32) + uint32((p&0xffffffff+uint64(c))>>32)
	}},
	{name: "bit_operations", parts: body(`
%sh = OpBitwiseAnd %uint %b %u31
%x = OpShiftRightArithmetic %uint %a %sh
%y = OpBitReverse %uint %c
%n = OpBitCount %uint %b
%s = OpIAdd %uint %x %y
%r = OpISub %uint %s %n`), want: func(a, b, c uint32) uint32 {
		return uint32(int32(a)>>(b&31)) + bits.Reverse32(c) - uint32(bits.OnesCount32(b))
	}},
	{name: "variable_pointers", needs: []string{"VariablePointersStorageBuffer"}, parts: map[string]string{
		"CAPABILITIES": "OpCapability VariablePointersStorageBuffer", "DECORATIONS": "OpDecorate %p_uint ArrayStride 4",
		"BODY": `
%odd = OpBitwiseAnd %uint %a %u1
%is = OpINotEqual %bool %odd %u0
%p = OpSelect %p_uint %is %pb %pc
%x = OpLoad %uint %p
OpSelectionMerge %merge None
OpBranchConditional %is %then %merge
%then = OpLabel
%pp = OpPtrAccessChain %p_uint %pb %u1
OpBranch %merge
%merge = OpLabel
%p2 = OpPhi %p_uint %pa %entry %pp %then
%y = OpLoad %uint %p2
%r = OpISub %uint %x %y`}, want: func(a, b, c uint32) uint32 {
		if a&1 != 0 {
			return b - c
		}
		return c - a
	}},
	{name: "variable_init_from_workgroup", needs: []string{"VariablePointers", "VariablePointersStorageBuffer"},
		parts: map[string]string{
			"CAPABILITIES": "OpCapability VariablePointers", "DECLARATIONS": `
%u32 = OpConstant %uint 32
%array = OpTypeArray %uint %u32
%w_array = OpTypePointer Workgroup %array
%w_uint = OpTypePointer Workgroup %uint
%p_w_array = OpTypePointer Private %w_array
%shared = OpVariable %w_array Workgroup
%held = OpVariable %p_w_array Private %shared`, "BODY": `
%k = OpBitwiseAnd %uint %i %u31
%p = OpLoad %w_array %held
%pk = OpAccessChain %w_uint %p %k
OpStore %pk %a
%sk = OpAccessChain %w_uint %shared %k
%x = OpLoad %uint %sk
OpStore %sk %b
%y = OpLoad %uint %pk
%r = OpISub %uint %x %y`}, want: func(a, b, _ uint32) uint32 { return a - b }},
	{name: "decoration_group", parts: map[string]string{"DECORATIONS": `
OpDecorate %g RelaxedPrecision
%g = OpDecorationGroup
OpGroupDecorate %g %x %y`, "BODY": `
%x = OpIAdd %uint %a %b
%y = OpIMul %uint %x %c
%r = OpCopyObject %uint %y`}, small: true, want: func(a, b, c uint32) uint32 { return (a + b) * c }},
	{name: "integer_dot_product", needs: []string{"ShaderIntegerDotProduct"}, parts: map[string]string{
		"CAPABILITIES": `
OpCapability DotProductKHR
OpCapability DotProductInput4x8BitPackedKHR
OpCapability DotProductInputAllKHR
OpExtension "SPV_KHR_integer_dot_product"`, "BODY": `
%x = OpUDotKHR %uint %a %b PackedVectorFormat4x8BitKHR
%y = OpSDotAccSatKHR %uint %a %c %b PackedVectorFormat4x8BitKHR
%v = OpCompositeConstruct %uvec2 %a %b
%w = OpCompositeConstruct %uvec2 %c %a
%z = OpUDotKHR %uint %v %w
%xy = OpBitwiseXor %uint %x %y
%r = OpIAdd %uint %xy %z`}, want: func(a, b, c uint32) uint32 {
		var x uint32
		var y int64
		for k := range 4 {
			x += a >> (8 * k) & 255 * (b >> (8 * k) & 255)
			y += int64(int8(a>>(8*k))) * int64(int8(c>>(8*k)))
		}
		y += int64(int32(b))
		return x ^ uint32(int32(min(max(y, math.MinInt32), math.MaxInt32))) + a*c + b*a
	}},
}

const assemblyTriples = 96

// assemblyCases mirror spirv_assembly.instruction.compute, as far as GLSL can't say it.
func assemblyCases() []definition {
	var all []definition
	for _, r := range slices.Concat(assemblyRows, newerRows) {
		all = append(all, definition{name: "spirv_assembly.instruction.compute." + r.name, compute: true, valid: r.newer == 0,
			needs: r.needs, run: func(c *Case) {
				var defines []string
				for _, part := range []string{"CAPABILITIES", "MODES", "DECORATIONS", "DECLARATIONS", "FUNCTIONS", "VARIABLES",
					"BODY"} {
					defines = append(defines, part+"="+r.parts[part])
				}
				values := random32(assemblyTriples*3, 31)
				copy(values[3:], []uint32{0, 1, 2, ^uint32(0), 5, 6, 1 << 31, 7, 8, 1<<31 - 1, 9, 10, 3, 3, 3})
				for i := range values {
					if r.small {
						values[i] &= 0xff
					}
					if r.float { // with exponents of 2^-8 to 2^7
						values[i] = values[i]&0x807fe000 | (119+values[i]>>23&15)<<23
					}
				}
				results := make([]uint32, assemblyTriples)
				want := slices.Clone(results)
				for i := range want {
					if r.wantAt != nil {
						want[i] = r.wantAt(uint32(i))
						continue
					}
					want[i] = r.want(values[3*i], values[3*i+1], values[3*i+2])
				}
				c.dispatch(dispatch{shader: shaders.Source{Name: "spirv/expression.spvasm", Defines: defines, Target: "vulkan1.1",
					Invalid: r.newer == newerThanTools},
					groups: [3]uint32{assemblyTriples / 32}, buffers: []any{values, results}})
				wantSlice(c, strings.TrimSpace(r.parts["BODY"]), results, want)
			}})
	}
	return all
}
