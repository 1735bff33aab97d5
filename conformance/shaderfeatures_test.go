package conformance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// newerRows are of extensions that SPIRV-Tools 2023.1 does not know, as numbers: FloatControls2
// (SPV_KHR_float_controls2) and QuadControlKHR (SPV_KHR_quad_control); and of SPV_KHR_expect_assume, which only the
// layer does not know.
var newerRows = slices.Concat([]assemblyRow{
	{name: "expect_assume", needs: []string{"ShaderExpectAssume"}, newer: newerThanLayer, parts: map[string]string{
		"CAPABILITIES": "OpCapability ExpectAssumeKHR\nOpExtension \"SPV_KHR_expect_assume\"",
		"DECLARATIONS": "%true = OpConstantTrue %bool", "BODY": `
%odd = OpBitwiseAnd %uint %a %u1
%e = OpExpectKHR %uint %odd %u1
%is = OpIEqual %bool %e %odd
%likely = OpExpectKHR %bool %is %true
OpAssumeTrueKHR %likely
%s = OpSelect %uint %likely %b %c
%v = OpCompositeConstruct %uvec2 %s %e
%w = OpExpectKHR %uvec2 %v %v
%x = OpCompositeExtract %uint %w 0
%y = OpCompositeExtract %uint %w 1
%r = OpIAdd %uint %x %y`}, want: func(a, b, _ uint32) uint32 { return b + a&1 }},
	quadRow("quad_all", 0x13f6, func(quad []bool) bool { return !slices.Contains(quad, false) }),
	quadRow("quad_any", 0x13f7, func(quad []bool) bool { return slices.Contains(quad, true) }),
}, floatControls2Rows())

// quadRow asks all four invocations of a quad whether their number's bits 0 and 2 differ, or are both set.
func quadRow(name string, opcode uint32, of func(quad []bool) bool) assemblyRow {
	return assemblyRow{name: name, needs: []string{"ShaderQuadControl"}, newer: newerThanTools, parts: map[string]string{
		"CAPABILITIES": "OpCapability GroupNonUniform\nOpCapability !5087\nOpExtension \"SPV_KHR_quad_control\"",
		"BODY": fmt.Sprintf(`
%%n = OpBitwiseAnd %%uint %%i %%u31
%%low = OpBitwiseAnd %%uint %%n %%u3
%%high = OpShiftRightLogical %%uint %%n %%u2
%%is = OpULessThanEqual %%bool %%low %%high
!%#x %%bool %%vote %%is
%%r = OpSelect %%uint %%vote %%u1 %%u0`, 4<<16|opcode)}, wantAt: func(i uint32) uint32 {
		var quad []bool
		for lane := range uint32(4) {
			quad = append(quad, lane <= (i&31)>>2)
		}
		return truth[uint32](of(quad))
	}}
}

// floatControls2Rows have expressions that a compiler may change unless it is told that everything counts: a default of
// no fast math, or a decoration that takes the default back.
func floatControls2Rows() []assemblyRow {
	const capability = "OpCapability !6029\nOpExtension \"SPV_KHR_float_controls2\""
	strict := map[string]string{"MODES": "OpExecutionModeId %main !6028 %float %u0"}
	undone := map[string]string{"MODES": "OpExecutionModeId %main !6028 %float %fast",
		"DECORATIONS": "OpDecorate %x FPFastMathMode None\nOpDecorate %y FPFastMathMode None"}
	var rows []assemblyRow
	for _, e := range []struct {
		name, x, y string
		want       func(a, b, c float32) float32
	}{
		{"no_contraction", "OpFMul %float %fa %fb", "OpFAdd %float %x %fc",
			func(a, b, c float32) float32 { return float32(a*b) + c }},
		{"no_reassociation", "OpFAdd %float %fa %fb", "OpFSub %float %x %fa",
			func(a, b, _ float32) float32 { return float32(a+b) - a }},
		{"no_reciprocal", "OpFDiv %float %f1 %fb", "OpFMul %float %fa %x",
			func(a, b, _ float32) float32 { return a * float32(1/b) }},
		{"zero_keeps_sign", "OpFNegate %float %zero", "OpFMul %float %x %fa",
			func(a, _, _ float32) float32 { return float32(math.Copysign(0, -1)) * a }},
		{"minus_zero_is_added", "OpFAdd %float %minus %zero", "OpFMul %float %x %fa",
			func(a, _, _ float32) float32 { return 0 * a }},
		{"infinity_less_infinity", "OpFSub %float %infinity %infinity", "OpSelect %float %truth %fa %fb",
			func(a, _, _ float32) float32 { return a }},
	} {
		for mode, parts := range map[string]map[string]string{"default": strict, "decoration": undone} {
			if mode == "decoration" && e.name == "infinity_less_infinity" {
				continue // no arithmetic to decorate
			}
			rows = append(rows, assemblyRow{name: "float_controls2." + e.name + "." + mode, float: true, newer: newerThanTools,
				needs: []string{"ShaderFloatControls2"},
				parts: map[string]string{"CAPABILITIES": capability, "MODES": parts["MODES"], "DECORATIONS": parts["DECORATIONS"],
					"DECLARATIONS": `
%fast = OpConstant %uint 0x7000f
%zero = OpConstant %float 0
%minus = OpConstant %float -0.0
%infinity = OpConstant %float !0x7f800000`,
					"BODY": "%x = " + e.x + "\n%truth = OpFUnordNotEqual %bool %x %x\n%y = " + e.y + "\n%r = OpBitcast %uint %y"},
				want: func(a, b, c uint32) uint32 { return bits32(e.want(f32(a), f32(b), f32(c))) }})
		}
	}
	slices.SortFunc(rows, func(a, b assemblyRow) int { return cmp.Compare(a.name, b.name) })
	return rows
}

// clockCases mirror glsl.shader_clock: a clock never goes back, and both ways of reading it are the same clock.
func clockCases() []definition {
	row := func(name, define, need string) definition {
		return definition{name: "glsl.shader_clock." + name, compute: true, valid: true, needs: []string{need, "ShaderInt64"},
			run: func(c *Case) {
				const groups = 8
				times := make([][2]uint32, 64*groups*4)
				c.dispatch(dispatch{shader: glsl("basic/clock.comp", define), groups: [3]uint32{groups}, buffers: []any{times}})
				advanced := false
				for i := 0; i < len(times); i += 4 {
					var t [4]uint64
					for k := range t {
						t[k] = uint64(times[i+k][0]) | uint64(times[i+k][1])<<32
					}
					if !slices.IsSorted(t[:]) {
						c.Errorf("invocation %d: the clock said %d", i/4, t)
					}
					advanced = advanced || t[3] > t[0]
				}
				if !advanced {
					c.Errorf("the clock stands still at %v", times[0])
				}
			}}
	}
	return []definition{row("subgroup", "DEVICE=0", "ShaderSubgroupClock"), row("device", "DEVICE=1", "ShaderDeviceClock")}
}
