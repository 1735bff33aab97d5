package compute

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"farside/spirv"
)

// shallow runs f with so little stack that a recursion whose depth a module chooses ends the process.
func shallow(t *testing.T, f func()) {
	t.Helper()
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// TestNullPointersInVariables: a null pointer may point to any variable of its storage class, and so to one that it
// initializes. Looking for these must come to an end.
func TestNullPointersInVariables(t *testing.T) {
	for _, class := range []string{"Private", "Workgroup", "StorageBuffer"} {
		var globals, names strings.Builder
		for i := range 100 {
			fmt.Fprintf(&globals, "%%v%d = OpVariable %%holder Private %%null\n", i)
			fmt.Fprintf(&names, " %%v%d", i)
		}
		words := assembleWords(t, `
OpCapability Shader
OpCapability VariablePointers
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" `+names.String()+`
OpExecutionMode %main LocalSize 16 1 1
%void = OpTypeVoid
%nothing = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%p = OpTypePointer `+class+` %u32
%holder = OpTypePointer Private %p
%null = OpConstantNull %p
`+globals.String()+`
%main = OpFunction %void None %nothing
%begin = OpLabel
OpReturn
OpFunctionEnd
`)
		shallow(t, func() {
			if err := compileHostile(words); err != nil {
				t.Errorf("%s: %v", class, err)
			}
		})
	}
}

// TestDeepTypes: types, constants and layouts as deep as they may be (spirv.MaxTypeDepth), through everything that goes
// along them.
func TestDeepTypes(t *testing.T) {
	var types, offsets strings.Builder
	indices := ""
	last := "u32"
	// A level of the chain is a struct within an array: arrays, structs and the scalar are MaxTypeDepth.
	for i := range (spirv.MaxTypeDepth - 1) / 2 {
		fmt.Fprintf(&offsets, "OpDecorate %%a%d ArrayStride 4\nOpMemberDecorate %%s%d 0 Offset 0\n", i, i)
		fmt.Fprintf(&types, "%%a%d = OpTypeArray %%%s %%one\n%%s%d = OpTypeStruct %%a%d\n", i, last, i, i)
		last = fmt.Sprintf("s%d", i)
		indices += " 0 0"
	}
	words := assembleWords(t, `
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %buffer %private
OpExecutionMode %main LocalSize 16 1 1
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
OpDecorate %`+last+` Block
`+offsets.String()+`
%void = OpTypeVoid
%nothing = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%one = OpConstant %u32 1
`+types.String()+`
%pb = OpTypePointer StorageBuffer %`+last+`
%pp = OpTypePointer Private %`+last+`
%null = OpConstantNull %`+last+`
%with = OpSpecConstantOp %`+last+` CompositeInsert %one %null`+indices+`
%buffer = OpVariable %pb StorageBuffer
%private = OpVariable %pp Private %with
%main = OpFunction %void None %nothing
%begin = OpLabel
%x = OpLoad %`+last+` %private
OpStore %buffer %x
%y = OpLoad %`+last+` %buffer
OpStore %private %y
OpReturn
OpFunctionEnd
`)
	shallow(t, func() {
		if err := compileHostile(words); err != nil {
			t.Error(err)
		}
	})
}
