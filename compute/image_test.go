package compute

import (
	"encoding/binary"
	"math"
	"testing"

	"farside/compute/internal/kernel"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/spirv"
)

// pictures are bindings: set 0 has words in buffers, set 1 views, one binding of many elements, and set 2 samplers.
type pictures struct {
	buffers
	views    []*sampling.View
	samplers []*sampling.Sampler
}

func (p pictures) Image(set, binding, element uint32) *sampling.View {
	if set != 1 || binding != 3 || int(element) >= len(p.views) {
		return nil
	}
	return p.views[element]
}

func (p pictures) Sampler(set, binding, element uint32) *sampling.Sampler {
	if set != 2 || binding != 4 || int(element) >= len(p.samplers) {
		return nil
	}
	return p.samplers[element]
}

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

func assembleImages(lanes uint32) *assembly {
	a := assemble([3]uint32{lanes, 1, 1})
	a.Resources = []Resource{{Set: 1, Binding: 3}, {Set: 2, Binding: 4}}
	return a
}

// image emits an instruction on an image.
func (a *assembly) image(op ImageOp) {
	a.Images = append(a.Images, op)
	a.emit(Inst{Code: CallImage, Index: int32(len(a.Images) - 1)})
}

func (a *assembly) float(v float32) Register { return a.constant(math.Float32bits(v)) }

// varyings are n registers.
func (a *assembly) varyings(n int) (all []Register) {
	for range n {
		all = append(all, a.varying(32))
	}
	return all
}

var noSampler = Element{Resource: -1}

// Lanes that are not active neither read nor write, and each lane chooses its image.
func TestImageReadsAndWritesOfActiveLanes(t *testing.T) {
	const lanes = 21
	a := assembleImages(lanes)
	out := a.slot(Slot{Kind: SlotBuffer})
	id := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
	odd, rest, end := a.varying(32), a.varying(32), a.varying(32)
	result := a.varyings(4)
	value := a.op(kernel.AddI32, id, a.constant(1000))
	a.emit(Inst{Code: Assign, Dst: result[0], A: a.constant(7)})
	a.emit(Inst{Code: Split, A: a.op(kernel.EqI32, a.op(kernel.AndI32, id, a.constant(1)), a.constant(1)), Dst: odd,
		B: rest})
	a.flow(Inst{Code: Enter, Dst: odd}, "rest")
	// element id % 3, of which the last does not exist
	chosen := Element{Resource: viewsResource, Register: a.op(kernel.RemU32, id, a.constant(3))}
	a.image(ImageOp{Op: spirv.OpImageWrite, Image: chosen, Sampler: noSampler, Coordinate: []Register{id},
		Texel: []Register{value}})
	a.image(ImageOp{Op: spirv.OpImageRead, Image: chosen, Sampler: noSampler, Coordinate: []Register{id}, Dst: result})
	a.emit(Inst{Code: Leave, Dst: end})
	a.label("rest")
	a.flow(Inst{Code: Enter, Dst: rest}, "end")
	a.emit(Inst{Code: Leave, Dst: end})
	a.label("end")
	a.flow(Inst{Code: Enter, Dst: end}, "out")
	a.store(out, a.op(kernel.ShlI32, id, a.constant(2)), result[0])
	a.label("out")
	p := ended(a)
	words := make([]uint32, lanes)
	first, firstView := texels(t, vk.FORMAT_R32_UINT, make([]uint32, 30)...)
	second, secondView := texels(t, vk.FORMAT_R32_UINT, make([]uint32, 10)...)
	runMachine(t, p, &Dispatch{Groups: [3]uint32{1, 1, 1},
		Bindings: pictures{buffers{words: [][]uint32{words}}, []*sampling.View{firstView, secondView}, nil}})
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
			out := a.slot(Slot{Kind: SlotBuffer})
			id := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
			op := ImageOp{Op: c.op, Image: Element{Resource: viewsResource}, Sampler: noSampler,
				Coordinate: []Register{a.constant(1)}}
			sum := a.varying(32)
			data, v := texels(t, vk.FORMAT_R32_UINT, 0, c.start, 0)
			if wide {
				data, v = texels(t, vk.FORMAT_R64_SINT, 0, 0, c.start, 0, 0, 0)
				for _, bits := range []uint32{c.value, c.comparator} {
					r := a.uniform(64)
					a.Constants = append(a.Constants, Constant{r, uint64(int64(int32(bits)))})
					op.Texel = append(op.Texel, r)
				}
				op.Dst = []Register{a.varying(64)}
				a.image(op)
				a.emit(Inst{Code: Kernel, Op: kernel.Low32, Dst: sum, A: op.Dst[0]})
			} else {
				op.Texel, op.Dst = []Register{a.constant(c.value), a.constant(c.comparator)}, []Register{sum}
				a.image(op)
			}
			a.store(out, a.op(kernel.ShlI32, id, a.constant(2)), sum)
			words := make([]uint32, lanes)
			runMachine(t, ended(a), &Dispatch{Groups: [3]uint32{1, 1, 1},
				Bindings: pictures{buffers{words: [][]uint32{words}}, []*sampling.View{v}, nil}})
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
	f := func(a *assembly, values ...float32) (r []Register) {
		for _, v := range values {
			r = append(r, a.float(v))
		}
		return r
	}
	for _, c := range []struct {
		name string
		op   func(a *assembly) ImageOp
		want [4]float32
	}{
		{"explicit", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleExplicitLod, Coordinate: f(a, 0.3, 0.6), Lod: a.float(0)}
		}, [4]float32{21, 0, 0, 1}},
		{"implicit with an offset", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleImplicitLod, Coordinate: f(a, 0.3, 0.6),
				Offset: []Register{a.constant(1), a.constant(math.MaxUint32)}}
		}, [4]float32{12, 0, 0, 1}},
		{"gradients", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleExplicitLod, Coordinate: f(a, 0.3, 0.6), GradX: f(a, 1, 1), GradY: f(a, 1, 1)}
		}, [4]float32{21, 0, 0, 1}},
		{"projective", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleProjExplicitLod, Coordinate: f(a, 0.6, 1.2, 2), Lod: a.float(0),
				Projective: true}
		}, [4]float32{21, 0, 0, 1}},
		{"comparison", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleDrefExplicitLod, Sampler: Element{Constant: 1}, Coordinate: f(a, 0.3, 0.6),
				Lod: a.float(0), Dref: a.float(20.5)}
		}, [4]float32{1}},
		{"projective comparison", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageSampleProjDrefExplicitLod, Sampler: Element{Constant: 1},
				Coordinate: f(a, 0.6, 1.2, 2), Lod: a.float(0), Dref: a.float(43), Projective: true}
		}, [4]float32{0}},
		{"gather", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.constant(0)}
		}, [4]float32{21, 22, 12, 11}},
		{"gather of what is not there", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.constant(3)}
		}, [4]float32{1, 1, 1, 1}},
		{"gather with offsets", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageGather, Coordinate: f(a, 0.5, 0.5), Component: a.constant(0),
				Offsets: [4][2]int32{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, HasOffsets: true}
		}, [4]float32{12, 21, 10, 1}},
		{"gather with comparison", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageDrefGather, Sampler: Element{Constant: 1}, Coordinate: f(a, 0.5, 0.5),
				Dref: a.float(11.5)}
		}, [4]float32{1, 1, 1, 0}},
		{"fetch with an offset", func(a *assembly) ImageOp {
			return ImageOp{Op: spirv.OpImageFetch, Sampler: noSampler, Coordinate: []Register{a.constant(2), a.constant(1)},
				Lod: a.constant(0), Offset: []Register{a.constant(1), a.constant(1)}}
		}, [4]float32{23, 0, 0, 1}},
	} {
		for _, uniform := range []bool{false, true} {
			a := assembleImages(9)
			id := a.builtin(spirv.BuiltInLocalInvocationIndex, 0, false)
			op := c.op(a)
			if op.Sampler.Resource == 0 {
				op.Sampler.Resource = samplersResource
			}
			op.Dst = a.varyings(4)
			if uniform {
				op.Dst = []Register{a.uniform(32), a.uniform(32), a.uniform(32), a.uniform(32)}
			}
			if op.Dref.Size != 0 && op.Op != spirv.OpImageDrefGather {
				op.Dst = op.Dst[:1]
			}
			a.image(op)
			out := a.slot(Slot{Kind: SlotBuffer})
			at := a.op(kernel.MulI32, id, a.constant(16))
			for i, r := range op.Dst {
				a.store(out, a.op(kernel.AddI32, at, a.constant(uint32(4*i))), r)
			}
			words := make([]uint32, 9*4)
			runMachine(t, ended(a), &Dispatch{Groups: [3]uint32{1, 1, 1},
				Bindings: pictures{buffers{words: [][]uint32{words}}, []*sampling.View{v}, []*sampling.Sampler{nearest, compare}}})
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
		out := a.slot(Slot{Kind: SlotBuffer})
		op := ImageOp{Op: c.op, Image: Element{Resource: viewsResource}, Sampler: noSampler,
			Dst: []Register{a.uniform(32), a.uniform(32), a.uniform(32)}}
		a.image(op)
		for i, r := range op.Dst {
			a.store(out, a.constant(uint32(4*i)), r)
		}
		words := make([]uint32, 3)
		runMachine(t, ended(a), &Dispatch{Groups: [3]uint32{1, 1, 1},
			Bindings: pictures{buffers{words: [][]uint32{words}}, []*sampling.View{places(t)}, nil}})
		if [3]uint32(words) != c.want {
			t.Errorf("%v: %v, want %v", c.op, words, c.want)
		}
	}
}
