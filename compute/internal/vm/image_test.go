package vm

import (
	"encoding/binary"
	"math"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/spirv"
)

// texels is a texel buffer of words.
func texels(t *testing.T, format vk.Format, words ...uint32) ([]byte, *sampling.View) {
	t.Helper()
	data := make([]byte, 0, 4*len(words))
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	v, err := sampling.NewBufferView(data, format)
	if err != nil {
		t.Fatal(err)
	}
	return data, v
}

const (
	viewsResource = iota
	samplersResource
)

func assembleImages(lanes uint32) *vmtest.Assembly {
	a := vmtest.Assemble([3]uint32{lanes, 1, 1})
	a.Resources = []program.Resource{{Set: 1, Binding: 3}, {Set: 2, Binding: 4}}
	return a
}

var noSampler = program.Element{Resource: -1}

// Lanes that are not active neither read nor write, and each lane chooses its image.
func TestImageReadsAndWritesOfActiveLanes(t *testing.T) {
	const lanes = 21
	a := assembleImages(lanes)
	out := a.Slot(program.Slot{Kind: program.SlotBuffer})
	id := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	odd, rest, end := a.Varying(32), a.Varying(32), a.Varying(32)
	result := a.Varyings(4)
	value := a.Op(kernel.AddI32, id, a.Constant(1000))
	a.Emit(program.Inst{Code: program.Assign, Dst: result[0], A: a.Constant(7)})
	a.Emit(program.Inst{Code: program.Split, A: a.Op(kernel.EqI32, a.Op(kernel.AndI32, id, a.Constant(1)), a.Constant(1)),
		Dst: odd, B: rest})
	a.Flow(program.Inst{Code: program.Enter, Dst: odd}, "rest")
	// element id % 3, of which the last does not exist
	chosen := program.Element{Resource: viewsResource, Register: a.Op(kernel.RemU32, id, a.Constant(3))}
	a.Image(program.ImageOp{Op: spirv.OpImageWrite, Image: chosen, Sampler: noSampler, Coordinate: []program.Register{id},
		Texel: []program.Register{value}})
	a.Image(program.ImageOp{Op: spirv.OpImageRead, Image: chosen, Sampler: noSampler, Coordinate: []program.Register{id},
		Dst: result})
	a.Emit(program.Inst{Code: program.Leave, Dst: end})
	a.Label("rest")
	a.Flow(program.Inst{Code: program.Enter, Dst: rest}, "end")
	a.Emit(program.Inst{Code: program.Leave, Dst: end})
	a.Label("end")
	a.Flow(program.Inst{Code: program.Enter, Dst: end}, "out")
	a.Store(out, a.Op(kernel.ShlI32, id, a.Constant(2)), result[0])
	a.Label("out")
	p := ended(a)
	words := make([]uint32, lanes)
	first, firstView := texels(t, vk.FORMAT_R32_UINT, make([]uint32, 30)...)
	second, secondView := texels(t, vk.FORMAT_R32_UINT, make([]uint32, 10)...)
	runMachine(t, p, dispatch([3]uint32{1, 1, 1},
		vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}},
			Views: []*sampling.View{firstView, secondView}}))
	for i := range uint32(lanes) {
		var want, inFirst, inSecond uint32
		switch {
		case i%2 == 0:
			want = 7
		case i%3 == 0:
			want, inFirst = 1000+i, 1000+i
		case i%3 == 1 && i < 10:
			want, inSecond = 1000+i, 1000+i
		}
		if words[i] != want || binary.LittleEndian.Uint32(first[4*i:]) != inFirst || i < 10 &&
			binary.LittleEndian.Uint32(second[4*i:]) != inSecond {
			t.Errorf("lane %d read %d, want %d; first %v, second %v", i, words[i], want, first[4*i:4*i+4], second)
		}
	}
}

func TestImageAtomics(t *testing.T) {
	const lanes = 13
	for _, c := range []struct {
		op         spirv.Op
		start      uint32
		value      uint32
		comparator uint32
		want, sum  uint32 // what is there afterwards, and what was there before, summed over the lanes
	}{
		{spirv.OpAtomicIAdd, 5, 3, 0, 5 + 3*lanes, 5*lanes + 3*78},
		{spirv.OpAtomicISub, 500, 3, 0, 500 - 3*lanes, 500*lanes - 3*78},
		{spirv.OpAtomicIIncrement, 5, 99, 0, 5 + lanes, 5*lanes + 78},
		{spirv.OpAtomicIDecrement, 500, 99, 0, 500 - lanes, 500*lanes - 78},
		{spirv.OpAtomicUMax, 5, 9, 0, 9, 5 + 9*12},
		{spirv.OpAtomicSMin, 5, math.MaxUint32, 0, math.MaxUint32, math.MaxUint32 - 6},
		{spirv.OpAtomicUMin, 5, math.MaxUint32, 0, 5, 5 * lanes},
		{spirv.OpAtomicSMax, 5, math.MaxUint32, 0, 5, 5 * lanes},
		{spirv.OpAtomicAnd, 7, 5, 0, 5, 7 + 5*12},
		{spirv.OpAtomicOr, 2, 5, 0, 7, 2 + 7*12},
		{spirv.OpAtomicXor, 2, 5, 0, 7, 2*7 + 7*6},
		{spirv.OpAtomicExchange, 2, 5, 0, 5, 2 + 5*12},
		{spirv.OpAtomicCompareExchange, 2, 5, 2, 5, 2 + 5*12},
		{spirv.OpAtomicLoad, 2, 5, 0, 2, 2 * lanes},
	} {
		for _, wide := range []bool{false, true} {
			a := assembleImages(lanes)
			out := a.Slot(program.Slot{Kind: program.SlotBuffer})
			id := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
			op := program.ImageOp{Op: c.op, Image: program.Element{Resource: viewsResource}, Sampler: noSampler,
				Coordinate: []program.Register{a.Constant(1)}}
			sum := a.Varying(32)
			data, v := texels(t, vk.FORMAT_R32_UINT, 0, c.start, 0)
			if wide {
				data, v = texels(t, vk.FORMAT_R64_SINT, 0, 0, c.start, 0, 0, 0)
				for _, bits := range []uint32{c.value, c.comparator} {
					r := a.Uniform(64)
					a.Constants = append(a.Constants, program.Constant{Register: r, Bits: uint64(int64(int32(bits)))})
					op.Texel = append(op.Texel, r)
				}
				op.Dst = []program.Register{a.Varying(64)}
				a.Image(op)
				a.Emit(program.Inst{Code: program.Kernel, Op: kernel.Low32, Dst: sum, A: op.Dst[0]})
			} else {
				op.Texel, op.Dst = []program.Register{a.Constant(c.value), a.Constant(c.comparator)}, []program.Register{sum}
				a.Image(op)
			}
			a.Store(out, a.Op(kernel.ShlI32, id, a.Constant(2)), sum)
			words := make([]uint32, lanes)
			runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1},
				vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}}, Views: []*sampling.View{v}}))
			var total uint32
			for _, w := range words {
				total += w
			}
			at := 4
			if wide {
				at = 8
			}
			if got := binary.LittleEndian.Uint32(data[at:]); got != c.want || total != c.sum {
				t.Errorf("%v, wide %v: %d is there, want %d; there were %d in sum, want %d", c.op, wide, got, c.want, total, c.sum)
			}
		}
	}
}

// A float image of 4 x 4, whose texel (x, y) is x + 10 y, tells where it was sampled.
func places(t *testing.T) *sampling.View {
	words := make([]uint32, 16)
	for i := range words {
		words[i] = math.Float32bits(float32(i%4 + 10*(i/4)))
	}
	data, _ := texels(t, vk.FORMAT_R32_SFLOAT, words...)
	storage, _ := texel.FormatOf(vk.FORMAT_R32_SFLOAT)
	layout, ok := texel.NewLayout(storage, [3]uint32{4, 4, 1}, 1, 1, 1)
	if !ok {
		t.Fatal("no layout")
	}
	v, err := sampling.NewImageView(&sampling.ImageView{Data: data, Layout: &layout, Type: vk.IMAGE_VIEW_TYPE_2D,
		Format: vk.FORMAT_R32_SFLOAT,
		Range:  vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestImageSamples(t *testing.T) {
	v := places(t)
	nearest := sampling.NewSampler(&sampling.SamplerInfo{})
	compare := sampling.NewSampler(&sampling.SamplerInfo{CompareOp: vk.COMPARE_OP_LESS})
	f := func(a *vmtest.Assembly, values ...float32) (r []program.Register) {
		for _, v := range values {
			r = append(r, a.Float(v))
		}
		return r
	}
	for _, c := range []struct {
		name string
		op   func(a *vmtest.Assembly) program.ImageOp
		want [4]float32
	}{
		{"explicit", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleExplicitLod, Coordinate: f(a, 0.3, 0.6), Lod: a.Float(0)}
		}, [4]float32{21, 0, 0, 1}},
		{"implicit with an offset", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleImplicitLod, Coordinate: f(a, 0.3, 0.6),
				Offset: []program.Register{a.Constant(1), a.Constant(math.MaxUint32)}}
		}, [4]float32{12, 0, 0, 1}},
		{"gradients", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleExplicitLod, Coordinate: f(a, 0.3, 0.6), GradX: f(a, 1, 1),
				GradY: f(a, 1, 1)}
		}, [4]float32{21, 0, 0, 1}},
		{"projective", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleProjExplicitLod, Coordinate: f(a, 0.6, 1.2, 2), Lod: a.Float(0),
				Projective: true}
		}, [4]float32{21, 0, 0, 1}},
		{"comparison", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleDrefExplicitLod, Sampler: program.Element{Constant: 1},
				Coordinate: f(a, 0.3, 0.6), Lod: a.Float(0), Dref: a.Float(20.5)}
		}, [4]float32{1}},
		{"projective comparison", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageSampleProjDrefExplicitLod, Sampler: program.Element{Constant: 1},
				Coordinate: f(a, 0.6, 1.2, 2), Lod: a.Float(0), Dref: a.Float(43), Projective: true}
		}, [4]float32{0}},
		{"gather", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.Constant(0)}
		}, [4]float32{21, 22, 12, 11}},
		{"gather of what is not there", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.Constant(3)}
		}, [4]float32{1, 1, 1, 1}},
		{"gather with offsets", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.Constant(0),
				Offsets: [4][2]int32{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, HasOffsets: true}
		}, [4]float32{12, 21, 10, 1}},
		{"gather with comparison", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageDrefGather, Sampler: program.Element{Constant: 1},
				Coordinate: f(a, 0.5, 0.5), Dref: a.Float(11.5)}
		}, [4]float32{1, 1, 1, 0}},
		{"fetch with an offset", func(a *vmtest.Assembly) program.ImageOp {
			return program.ImageOp{Op: spirv.OpImageFetch, Sampler: noSampler,
				Coordinate: []program.Register{a.Constant(2), a.Constant(1)}, Lod: a.Constant(0),
				Offset: []program.Register{a.Constant(1), a.Constant(1)}}
		}, [4]float32{23, 0, 0, 1}},
	} {
		for _, uniform := range []bool{false, true} {
			a := assembleImages(9)
			id := a.Builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
			op := c.op(a)
			if op.Sampler.Resource == 0 {
				op.Sampler.Resource = samplersResource
			}
			op.Dst = a.Varyings(4)
			if uniform {
				op.Dst = []program.Register{a.Uniform(32), a.Uniform(32), a.Uniform(32), a.Uniform(32)}
			}
			if op.Dref.Size != 0 && op.Op != spirv.OpImageDrefGather {
				op.Dst = op.Dst[:1]
			}
			a.Image(op)
			out := a.Slot(program.Slot{Kind: program.SlotBuffer})
			at := a.Op(kernel.MulI32, id, a.Constant(16))
			for i, r := range op.Dst {
				a.Store(out, a.Op(kernel.AddI32, at, a.Constant(uint32(4*i))), r)
			}
			words := make([]uint32, 9*4)
			runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1},
				vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}},
					Views: []*sampling.View{v}, Samplers: []*sampling.Sampler{nearest, compare}}))
			for lane := range 9 {
				var got [4]float32
				for i := range got {
					got[i] = math.Float32frombits(words[4*lane+i])
				}
				if got != c.want {
					t.Errorf("%s, uniform %v: lane %d has %v, want %v", c.name, uniform, lane, got, c.want)
					break
				}
			}
		}
	}
}

func TestImageQueries(t *testing.T) {
	for _, c := range []struct {
		op   spirv.Op
		want [3]uint32
	}{
		{spirv.OpImageQuerySizeLod, [3]uint32{4, 4, 0}},
		{spirv.OpImageQuerySize, [3]uint32{4, 4, 0}},
		{spirv.OpImageQueryLevels, [3]uint32{1, 0, 0}},
		{spirv.OpImageQuerySamples, [3]uint32{1, 0, 0}},
	} {
		a := assembleImages(1)
		out := a.Slot(program.Slot{Kind: program.SlotBuffer})
		op := program.ImageOp{Op: c.op, Image: program.Element{Resource: viewsResource}, Sampler: noSampler,
			Dst: []program.Register{a.Uniform(32), a.Uniform(32), a.Uniform(32)}}
		a.Image(op)
		for i, r := range op.Dst {
			a.Store(out, a.Constant(uint32(4*i)), r)
		}
		words := make([]uint32, 3)
		runMachine(t, ended(a), dispatch([3]uint32{1, 1, 1},
			vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{words}}, Views: []*sampling.View{places(t)}}))
		if [3]uint32(words) != c.want {
			t.Errorf("%v: %v, want %v", c.op, words, c.want)
		}
	}
}
