package compute

import (
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/spirv"
)

func TestDisassembly(t *testing.T) {
	a := assemble([3]uint32{16, 2, 1})
	a.Slots = []Slot{{Kind: SlotBuffer, Set: 1, Binding: 2, Name: "out"}, {Kind: SlotShared}, {Kind: SlotPush}}
	a.Resources = []Resource{{Set: 3, Binding: 4, Name: "images"}}
	a.Loops = []Loop{{Name: "a.comp:5"}}
	id := a.builtin(spirv.BuiltInLocalInvocationId, 1, false)
	four := a.constant(4)
	at := a.op(kernel.MulI32, id, four)
	wide := a.varying(64)
	a.emit(Inst{Code: Kernel, Op: kernel.MulAddSat, Dst: at, A: at, B: four, Immediate: 12})
	a.emit(Inst{Code: Kernel, Op: kernel.ZextI32I64, Dst: wide, A: at})
	a.label("loop")
	a.emit(Inst{Code: Access, Op: kernel.Store32, A: at, B: four, Base: four, Immediate: 8})
	a.emit(Inst{Code: Access, Dynamic: true, Op: kernel.AtomicCompareExchange32, A: at, B: four, C: id, D: four, Dst: at})
	a.emit(Inst{Code: AccessPhysical, Op: kernel.LoadPhysical32, A: wide, Dst: at})
	a.emit(Inst{Code: AccessPrivate, Op: kernel.LoadPrivate32, A: id, C: at, Dst: at, Immediate: 3})
	a.emit(Inst{Code: ArrayLength, Dst: at, Immediate: 4, Stride: 16})
	a.flow(Inst{Code: Again, Dst: at}, "loop")
	a.flow(Inst{Code: Enter, Dst: at}, "end")
	a.Subgroups = []SubgroupOp{{Op: spirv.OpGroupNonUniformIAdd, Combines: true, Type: typeInt,
		Operation: spirv.GroupOperationReduce, Value: []Register{at}, Dst: []Register{id}}}
	a.emit(Inst{Code: CallSubgroup})
	a.Prints = []Print{{Format: "%d\n", Args: []Register{at}}}
	a.emit(Inst{Code: CallPrint})
	a.Images = []ImageOp{{Op: spirv.OpImageRead, Image: Element{Constant: 7}, Sampler: Element{Resource: -1},
		Coordinate: []Register{at, id}, Dst: []Register{at}}}
	a.emit(Inst{Code: CallImage})
	a.label("end")
	got := a.end().String()
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
