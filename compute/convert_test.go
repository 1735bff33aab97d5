package compute

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/compute/internal/vmtest"
)

// Real compilers write conversions of floats to their own width: glslc does for ggml's rotations of 16-bit floats.
const equalWidths = `
OpCapability Shader
OpCapability Float16
OpCapability Float64
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %out %in
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 1
%void = OpTypeVoid
%u = OpTypeInt 32 0
%f = OpTypeFloat 32
%half = OpTypeFloat 16
%double = OpTypeFloat 64
%f2 = OpTypeVector %f 2
%half2 = OpTypeVector %half 2
%words = OpTypeRuntimeArray %f
%block = OpTypeStruct %words
%pblock = OpTypePointer StorageBuffer %block
%pf = OpTypePointer StorageBuffer %f
%fn = OpTypeFunction %void
%out = OpVariable %pblock StorageBuffer
%in = OpVariable %pblock StorageBuffer
%0 = OpConstant %u 0
%1 = OpConstant %u 1
%2 = OpConstant %u 2
%3 = OpConstant %u 3
%main = OpFunction %void None %fn
%entry = OpLabel
%i0 = OpAccessChain %pf %in %0 %0
%i1 = OpAccessChain %pf %in %0 %1
%x = OpLoad %f %i0
%y = OpLoad %f %i1
%xx = OpFConvert %f %x
%xy = OpCompositeConstruct %f2 %x %y
%h = OpFConvert %half2 %xy
%hh = OpFConvert %half2 %h
%back = OpFConvert %f2 %hh
%b0 = OpCompositeExtract %f %back 0
%b1 = OpCompositeExtract %f %back 1
%d = OpFConvert %double %y
%dd = OpFConvert %double %d
%y2 = OpFConvert %f %dd
%o0 = OpAccessChain %pf %out %0 %0
%o1 = OpAccessChain %pf %out %0 %1
%o2 = OpAccessChain %pf %out %0 %2
%o3 = OpAccessChain %pf %out %0 %3
OpStore %o0 %xx
OpStore %o1 %b0
OpStore %o2 %b1
OpStore %o3 %y2
OpReturn
OpFunctionEnd
`

// TestFConvertOfEqualWidth: it copies, with a warning for each such instruction.
func TestFConvertOfEqualWidth(t *testing.T) {
	p := compileWords(t, assembleWords(t, equalWidths), Options{})
	if len(p.Warnings) != 3 {
		t.Errorf("%d warnings, want 3", len(p.Warnings))
	}
	for i, bits := range []string{"32", "16", "64"} {
		if i < len(p.Warnings) && !strings.Contains(p.Warnings[i].Text, "OpFConvert: both components have "+bits+" bits") {
			t.Errorf("warning %d: %q", i, p.Warnings[i].Text)
		}
	}
	out := make([]uint32, 4)
	in := []uint32{math.Float32bits(1.0000001), math.Float32bits(-2.5)}
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
	got := make([]float32, 4)
	for i, b := range out {
		got[i] = math.Float32frombits(b)
	}
	if diff := cmp.Diff([]float32{1.0000001, 1, -2.5, -2.5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
