package vm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/spirv"
)

var (
	typeInt    = &spirv.Type{Kind: spirv.TypeInt, Width: 32, Signed: true}
	typeUint   = &spirv.Type{Kind: spirv.TypeInt, Width: 32}
	typeInt8   = &spirv.Type{Kind: spirv.TypeInt, Width: 8, Signed: true}
	typeInt64  = &spirv.Type{Kind: spirv.TypeInt, Width: 64, Signed: true}
	typeUint64 = &spirv.Type{Kind: spirv.TypeInt, Width: 64}
	typeFloat  = &spirv.Type{Kind: spirv.TypeFloat, Width: 32}
	typeDouble = &spirv.Type{Kind: spirv.TypeFloat, Width: 64}
	typeHalf   = &spirv.Type{Kind: spirv.TypeFloat, Width: 16}
	typeBool   = &spirv.Type{Kind: spirv.TypeBool}
)

func TestFormats(t *testing.T) {
	f32 := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	for _, c := range []struct {
		format string
		args   []argument
		want   string
	}{
		{"plain 100%% %", nil, "plain 100% %"},
		{"%d %u %i", []argument{{typeInt, []uint64{0xffffffff}}, {typeInt, []uint64{0xffffffff}}, {typeInt8, []uint64{0xfe}}},
			"-1 4294967295 -2"},
		{"%x|%#x|%08X|%o", []argument{{typeUint, []uint64{255}}, {typeUint, []uint64{255}}, {typeInt, []uint64{0xffffffff}},
			{typeUint, []uint64{8}}}, "ff|0xff|FFFFFFFF|10"},
		{"%5d|%-5d|%+d", []argument{{typeInt, []uint64{42}}, {typeInt, []uint64{42}}, {typeInt, []uint64{42}}},
			"   42|42   |+42"},
		{"%f %1.2f %e %g", []argument{{typeFloat, []uint64{f32(1.5)}}, {typeFloat, []uint64{f32(-2.25)}},
			{typeDouble, []uint64{math.Float64bits(1000)}}, {typeHalf, []uint64{f32(0.5)}}}, "1.500000 -2.25 1.000000e+03 0.5"},
		{"%lu %ld %lx", []argument{{typeUint64, []uint64{math.MaxUint64}}, {typeInt64, []uint64{math.MaxUint64}},
			{typeUint64, []uint64{math.MaxUint64}}}, "18446744073709551615 -1 ffffffffffffffff"},
		{"v=%v4f w=%1.1v2f.", []argument{{typeFloat, []uint64{f32(1), f32(2), f32(3), f32(4)}},
			{typeFloat, []uint64{f32(5), f32(6)}}}, "v=1.000000, 2.000000, 3.000000, 4.000000 w=5.0, 6.0."},
		{"%v3d %v2u", []argument{{typeInt, []uint64{1, 0xffffffff, 3}}, {typeUint, []uint64{4, 5}}}, "1, -1, 3 4, 5"},
		{"%d and %d", []argument{{typeInt, []uint64{1}}}, "1 and %d"},
		{"%f %d", []argument{{typeInt, []uint64{7}}, {typeFloat, []uint64{f32(7)}}}, "7 7.000000"},
		{"%s %d", []argument{{typeUint, []uint64{7}}, {typeBool, []uint64{0xffffffff}}}, "7 true"},
		{"%999999999999d", []argument{{typeInt, []uint64{7}}}, "7"},
		{"%", nil, "%"},
		{"%l", []argument{{typeInt, []uint64{7}}}, ""},
	} {
		if got := formatPrint(c.format, c.args); got != c.want {
			t.Errorf("%q gives %q, not %q", c.format, got, c.want)
		}
	}
}

// Only lanes that are active print, in order.
func TestPrintOfLanes(t *testing.T) {
	a := vmtest.Assemble([3]uint32{20, 1, 1})
	index := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	odd := a.Varying(32)
	a.Prints = []program.Print{{Format: "lane %d of %v2u", Args: []program.Register{index, a.Constant(20), index},
		Types: []*spirv.Type{typeInt, {Kind: spirv.TypeVector, Elem: typeUint, Count: 2}}}}
	a.Emit(program.Inst{Code: program.Split,
		A: a.Op(kernel.EqI32, a.Op(kernel.AndI32, index, a.Constant(5)), a.Constant(5)), Dst: odd})
	a.Flow(program.Inst{Code: program.Enter, Dst: odd}, "end")
	a.Emit(program.Inst{Code: program.CallPrint})
	a.Label("end")
	var got []string
	p := ended(a)
	runMachine(t, p, &Dispatch{Groups: [3]uint32{1, 1, 1},
		Environment: Environment{Print: func(s string) { got = append(got, s) }}})
	want := []string{"lane 5 of 20, 5", "lane 7 of 20, 7", "lane 13 of 20, 13", "lane 15 of 20, 15"}
	if !slices.Equal(got, want) {
		t.Errorf("the lanes print %q", strings.Join(got, "\n"))
	}
	runMachine(t, p, &Dispatch{Groups: [3]uint32{1, 1, 1}}) // nobody listens
}
