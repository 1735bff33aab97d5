package program_test

import (
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

func TestDisassembly(t *testing.T) {
	a := vmtest.Assemble([3]uint32{16, 2, 1})
	a.Slots = []program.Slot{{Kind: program.SlotBuffer, Set: 1, Binding: 2, Name: "out"}, {Kind: program.SlotShared},
		{Kind: program.SlotPush}}
	a.Resources = []program.Resource{{Set: 3, Binding: 4, Name: "images"}}
	a.Loops = []program.Loop{{Name: "a.comp:5"}}
	id := a.Builtin(spirv.BuiltInLocalInvocationId, 1, false)
	four := a.Constant(4)
	at := a.Op(kernel.MulI32, id, four)
	wide := a.Varying(64)
	a.Emit(program.Inst{Code: program.Kernel, Op: kernel.MulAddSat, Dst: at, A: at, B: four, Immediate: 12})
	a.Emit(program.Inst{Code: program.Kernel, Op: kernel.ZextI32I64, Dst: wide, A: at})
	a.Label("loop")
	a.Emit(program.Inst{Code: program.Access, Op: kernel.Store32, A: at, B: four, Base: four, Immediate: 8})
	a.Emit(program.Inst{Code: program.Access, Dynamic: true, Op: kernel.AtomicCompareExchange32, A: at, B: four, C: id,
		D: four, Dst: at})
	a.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.LoadPhysical32, A: wide, Dst: at})
	a.Emit(program.Inst{Code: program.AccessPrivate, Op: kernel.LoadPrivate32, A: id, C: at, Dst: at, Immediate: 3})
	a.Emit(program.Inst{Code: program.ArrayLength, Dst: at, Immediate: 4, Stride: 16})
	a.Flow(program.Inst{Code: program.Again, Dst: at}, "loop")
	a.Flow(program.Inst{Code: program.Enter, Dst: at}, "end")
	a.Subgroups = []program.SubgroupOp{{Op: spirv.OpGroupNonUniformIAdd, Combines: true,
		Type: &spirv.Type{Kind: spirv.TypeInt, Width: 32, Signed: true}, Operation: spirv.GroupOperationReduce,
		Value: []program.Register{at}, Dst: []program.Register{id}}}
	a.Emit(program.Inst{Code: program.CallSubgroup})
	a.Prints = []program.Print{{Format: "%d\n", Args: []program.Register{at}}}
	a.Emit(program.Inst{Code: program.CallPrint})
	a.Images = []program.ImageOp{{Op: spirv.OpImageRead, Image: program.Element{Constant: 7},
		Sampler: program.Element{Resource: -1}, Coordinate: []program.Register{at, id}, Dst: []program.Register{at}}}
	a.Emit(program.Inst{Code: program.CallImage})
	a.Label("end")
	got := a.End().String()
	for _, want := range []string{
		"main: 16×2×1 invocations, subgroups of 32", "execution mask r0\n", "u8 = 0x4\n", "r4 = LocalInvocationId.y\n",
		"r10 = MulI32 r4, u8\n", "r10 = MulAddSat r10, u8, 12\n", "r14: = ZextI32I64 r10\n",
		">    3  Store32 out(1.2.0)[u8+r10+8], u8\n", "r10 = AtomicCompareExchange32 images(3.4)[r4][r10], u8, u8\n",
		"r10 = LoadPhysical32 [r14:]\n", "r10 = LoadPrivate32 r10+3 registers[r4]\n",
		"r10 = length of out(1.2.0), elements of 16 behind 4\n", "again 3 if r10, loop a.comp:5\n", "enter r10, else 13\n",
		"r4 = OpGroupNonUniformIAdd r10 Reduce\n", `print "%d\n" r10`, "r10 = OpImageRead images(3.4.7) at r10, r4\n",
		">   13  end\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
