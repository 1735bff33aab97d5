package compute

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/vmtest"
)

// assembleWords runs spirv-as.
func assembleWords(t testing.TB, text string) []uint32 {
	t.Helper()
	cmd := exec.Command(tool(t, "spirv-as"), "--target-env", "spv1.6", "-o", "-", "-")
	cmd.Stdin = strings.NewReader(text)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("spirv-as: %v\n%s\n%s", err, errOut.String(), text)
	}
	return toWords(out.Bytes())
}

// What GLSL can't say: pointers that are chosen, walk through a buffer, are kept in variables and compared; phis and
// copies of composites.
const variablePointers = `
OpCapability Shader
OpCapability VariablePointers
OpExtension "SPV_KHR_storage_buffer_storage_class"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %out %a %b
OpExecutionMode %main LocalSize 16 1 1
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %pw ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 1
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 2
%void = OpTypeVoid
%bool = OpTypeBool
%u = OpTypeInt 32 0
%s = OpTypeInt 32 1
%words = OpTypeRuntimeArray %u
%block = OpTypeStruct %words
%pb = OpTypePointer StorageBuffer %block
%pw = OpTypePointer StorageBuffer %u
%pi = OpTypePointer Input %u
%ppw = OpTypePointer Function %pw
%pairv = OpTypeVector %u 2
%pair = OpTypeStruct %u %pairv
%fn = OpTypeFunction %void
%id = OpVariable %pi Input
%out = OpVariable %pb StorageBuffer
%a = OpVariable %pb StorageBuffer
%b = OpVariable %pb StorageBuffer
%0 = OpConstant %u 0
%1 = OpConstant %u 1
%2 = OpConstant %u 2
%3 = OpConstant %u 3
%16 = OpConstant %u 16
%32 = OpConstant %u 32
%48 = OpConstant %u 48
%64 = OpConstant %u 64
%m1 = OpConstant %s -1
%null = OpConstantNull %pw
%nullpair = OpConstantNull %pair
%main = OpFunction %void None %fn
%entry = OpLabel
%kept = OpVariable %ppw Function
%i = OpLoad %u %id
%odd = OpBitwiseAnd %u %i %1
%isodd = OpINotEqual %bool %odd %0
%ai = OpAccessChain %pw %a %0 %i
%bi = OpAccessChain %pw %b %0 %i
%chosen = OpSelect %pw %isodd %ai %bi
%x = OpLoad %u %chosen
%o0 = OpAccessChain %pw %out %0 %i
OpStore %o0 %x
OpStore %kept %chosen
%isless = OpULessThan %bool %i %3
OpSelectionMerge %after None
OpBranchConditional %isless %then %after
%then = OpLabel
OpStore %kept %ai
%v2 = OpCompositeConstruct %pairv %i %3
%full = OpCompositeConstruct %pair %2 %v2
OpBranch %after
%after = OpLabel
%ph = OpPhi %pair %nullpair %entry %full %then
%maybe = OpPhi %pw %null %entry %ai %then
%again = OpLoad %pw %kept
%y = OpLoad %u %again
%e = OpCompositeExtract %u %ph 1 0
%f = OpCompositeExtract %u %ph 0
%isnull = OpPtrEqual %bool %maybe %null
%nul = OpSelect %u %isnull %16 %0
%sum0 = OpIAdd %u %y %e
%sum1 = OpIAdd %u %sum0 %f
%sum = OpIAdd %u %sum1 %nul
%i1 = OpIAdd %u %i %16
%o1 = OpAccessChain %pw %out %0 %i1
OpStore %o1 %sum
%first = OpAccessChain %pw %a %0 %0
OpBranch %loop
%loop = OpLabel
%p = OpPhi %pw %first %after %pnext %cont
%k = OpPhi %u %0 %after %knext %cont
%t = OpPhi %u %0 %after %tnext %cont
%more = OpULessThan %bool %k %i
OpLoopMerge %done %cont None
OpBranchConditional %more %cont %done
%cont = OpLabel
%w = OpLoad %u %p
%tnext = OpIAdd %u %t %w
%pnext = OpPtrAccessChain %pw %p %1
%knext = OpIAdd %u %k %1
OpBranch %loop
%done = OpLabel
%i2 = OpIAdd %u %i %32
%o2 = OpAccessChain %pw %out %0 %i2
OpStore %o2 %t
%back = OpPtrAccessChain %pw %p %m1
%safe = OpSelect %pw %isodd %back %p
%z = OpLoad %u %safe
%i3 = OpIAdd %u %i %48
%o3 = OpAccessChain %pw %out %0 %i3
OpStore %o3 %z
%i4 = OpIAdd %u %i %64
%o4 = OpAccessChain %pw %out %0 %i4
OpCopyMemory %o4 %chosen
OpStore %chosen %i
OpReturn
OpFunctionEnd
`

func TestVariablePointers(t *testing.T) {
	p := compileWords(t, assembleWords(t, variablePointers), Options{})
	out, a, b := make([]uint32, 80), make([]uint32, 32), make([]uint32, 32)
	for i := range a {
		a[i], b[i] = uint32(100+i*i), uint32(5000+3*i)
	}
	a0, b0 := append([]uint32(nil), a...), append([]uint32(nil), b...)
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, a, b}}))
	sum := uint32(0)
	for i := range uint32(16) {
		chosen := b0[i]
		if i&1 != 0 {
			chosen = a0[i]
		}
		second := chosen + 16
		if i < 3 {
			second = a0[i] + i + 2
		}
		walked := a0[i]
		if i&1 != 0 {
			walked = a0[i-1]
		}
		for k, want := range []uint32{chosen, second, sum, walked, chosen} {
			if got := out[uint32(k)*16+i]; got != want {
				t.Errorf("result %d of invocation %d: %d, want %d", k, i, got, want)
			}
		}
		wantA, wantB := a0[i], i
		if i&1 != 0 {
			wantA, wantB = i, b0[i]
		}
		if a[i] != wantA || b[i] != wantB {
			t.Errorf("after invocation %d: %d and %d, want %d and %d", i, a[i], b[i], wantA, wantB)
		}
		sum += a0[i]
	}
}

// TestVariablePointersAroundLoop has a pointer that begins in one descriptor of an array, and in a loop's continue
// block goes to another one that no instruction in front of it has named.
func TestVariablePointersAroundLoop(t *testing.T) {
	const text = `
OpCapability Shader
OpCapability VariablePointers
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %out %bufs
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
OpDecorate %bufs DescriptorSet 1
OpDecorate %bufs Binding 1
%void = OpTypeVoid
%bool = OpTypeBool
%u = OpTypeInt 32 0
%words = OpTypeRuntimeArray %u
%block = OpTypeStruct %words
%pb = OpTypePointer StorageBuffer %block
%pw = OpTypePointer StorageBuffer %u
%fn = OpTypeFunction %void
%0 = OpConstant %u 0
%1 = OpConstant %u 1
%2 = OpConstant %u 2
%3 = OpConstant %u 3
%4 = OpConstant %u 4
%array = OpTypeArray %block %4
%pa = OpTypePointer StorageBuffer %array
%out = OpVariable %pb StorageBuffer
%bufs = OpVariable %pa StorageBuffer
%main = OpFunction %void None %fn
%entry = OpLabel
%first = OpAccessChain %pw %bufs %0 %0 %1
OpBranch %loop
%loop = OpLabel
%p = OpPhi %pw %first %entry %second %cont
%k = OpPhi %u %0 %entry %next %cont
%more = OpULessThan %bool %k %3
OpLoopMerge %done %cont None
OpBranchConditional %more %body %done
%body = OpLabel
%x = OpLoad %u %p
%o = OpAccessChain %pw %out %0 %k
OpStore %o %x
OpStore %p %k
OpBranch %cont
%cont = OpLabel
%second = OpAccessChain %pw %bufs %2 %0 %k
%next = OpIAdd %u %k %1
OpBranch %loop
%done = OpLabel
OpReturn
OpFunctionEnd
`
	p := compileWords(t, assembleWords(t, text), Options{})
	out := make([]uint32, 3)
	elements := [][]uint32{{10, 11, 12}, {20, 21, 22}, {30, 31, 32}, {40, 41, 42}}
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out}, Elements: elements}))
	if want := []uint32{11, 30, 31}; !slices.Equal(out, want) {
		t.Errorf("loads give %d, want %d", out, want)
	}
	if got, want := fmt.Sprint(elements), "[[10 0 12] [20 21 22] [1 2 32] [40 41 42]]"; got != want {
		t.Errorf("after the stores the buffers have %s, want %s", got, want)
	}
}
