package compute

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
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

// TestDeepOffset: an offset that is a sum of as many parts as a module chooses is taken apart to deepestSum operations.
// Its bound, and what an unrolled loop would know of it, are looked for as far.
func TestDeepOffset(t *testing.T) {
	const length = 100_000
	g := &graph{nodes: []node{{}, {op: kernel.LoadU8}, {op: ops.Const, imm: 8}}, blocks: make([]block, 1)}
	g.blocks[0].loop = -1
	// Nothing is left of a byte's bits above the eighth, and so no sum with it can wrap.
	zero := value(len(g.nodes))
	g.nodes = append(g.nodes, node{op: kernel.ShrU32, args: [4]value{1, 2}})
	last := value(1)
	for range length {
		g.nodes = append(g.nodes, node{op: kernel.AddI32, args: [4]value{last, zero}})
		last = value(len(g.nodes) - 1)
	}
	shallow(t, func() {
		var o offset
		g.part(&o, last, 1, deepestSum)
		if n := len(o.each) + len(o.same); n != deepestSum {
			t.Errorf("%d parts, want %d", n, deepestSum)
		}
		if got := g.most(last, boundDepth); got != 1<<32-1 {
			t.Errorf("the bound of the sum is %d", got)
		}
		u := &unroller{graph: g, counters: make([]int32, len(g.nodes)), replaced: make(replacements, len(g.nodes))}
		if _, ok := u.predict(last, unrollDepth); ok {
			t.Error("the sum is known")
		}
	})
}

// TestFoldChain: additions of constants to each other, as many as a module chooses, become one.
func TestFoldChain(t *testing.T) {
	const length = 100_000
	w := takeWorkspace()
	defer w.release()
	g := newGraph(w)
	g.nodes = append(g.nodes, node{op: kernel.Load32}, node{op: ops.Const, imm: 1})
	base, one := value(len(g.nodes)-2), value(len(g.nodes)-1)
	last := base
	for range length {
		g.nodes = append(g.nodes, node{op: kernel.AddI32, args: [4]value{last, one}})
		last = value(len(g.nodes) - 1)
	}
	shallow(t, func() {
		n := g.nodes[g.op2(kernel.AddI32, last, one)]
		if k, ok := g.known(n.args[1]); n.op != kernel.AddI32 || n.args[0] != base || !ok || k != length+1 {
			t.Errorf("the sum is %+v", n)
		}
	})
}
