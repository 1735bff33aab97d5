package sampling

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// Every format that shaders can access reads as its codec has it, in every level, layer and slice; what lies outside
// reads as 0, with an alpha of 1 if the format has none.
func TestFetchOfEveryFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	n := 0
	for _, format := range vk.AllFormats {
		if !AccessOf(format).Sampled {
			continue
		}
		n++
		types := append([]vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE_ARRAY}, planarTypes...)
		viewType := types[n%len(types)]
		extent, levels, layers := shape(viewType)
		p, v := newPicture(t, r, format, viewType, extent, levels, layers)
		for range 30 {
			var at [3]Lanes
			var lod Lanes
			for i := range Width {
				for axis := range at {
					at[axis][i] = uint32(r.IntN(int(extent[0])+3) - 1)
				}
				lod[i] = uint32(r.IntN(int(levels)+2) - 1)
			}
			var got Texels
			v.Fetch(&got, &at, &lod, nil, All)
			for lane := range Width {
				checkFetched(t, p, v, &got, &at, lod[lane], lane)
			}
		}
	}
	if n < 106+58 {
		t.Errorf("only %d formats", n)
	}
}

func checkFetched(t *testing.T, p *picture, v *View, got *Texels, at *[3]Lanes, lod uint32, lane int) {
	t.Helper()
	x, y, z, layer := int(int32(at[0][lane])), 0, 0, uint32(0)
	if v.axes == 1 {
		layer = at[1][lane]
	} else {
		y, layer = int(int32(at[1][lane])), at[2][lane]
	}
	if v.axes == 3 {
		z = int(int32(at[2][lane]))
	}
	if v.axes == 3 || !v.arrayed {
		layer = 0
	}
	want, ok := p.texel(lod, layer, x, y, z)
	if !ok {
		for c := range want {
			want[c] = [4]float64{0, 0, 0, 1}[c]
			if v.format.Present[c] {
				want[c] = 0
			}
		}
	}
	if v.format.Class == texel.Float {
		for c := range want {
			want[c] = float64(float32(want[c]))
		}
	}
	if n := value(v, got, lane, false); n != want && !math.IsNaN(want[0]) {
		t.Fatalf("%v %v at %d, %d, %d of layer %d of level %d: %v, want %v", p.info.Type, p.info.Format, x, y, z, layer, lod,
			n, want)
	}
}

// An image with samples is one of four times the width, where the samples of a texel follow each other. A sample that
// it has not reads as what lies outside.
func TestFetchOfSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	const samples = 4
	extent := [3]uint32{13, 7, 1}
	for n, format := range vk.AllFormats {
		storage, _ := texel.FormatOf(format)
		if !AccessOf(format).Sampled || storage.Compressed {
			continue
		}
		viewType, layers := vk.IMAGE_VIEW_TYPE_2D, uint32(1)
		if n%2 == 0 {
			viewType, layers = vk.IMAGE_VIEW_TYPE_2D_ARRAY, 3
		}
		wide, _ := newPicture(t, r, format, viewType, [3]uint32{samples * extent[0], extent[1], 1}, 1, layers)
		layout, ok := texel.NewLayout(storage, extent, 1, layers, samples)
		if !ok || layout.Size != uint64(len(wide.data)) {
			t.Fatalf("%v has a layout of %d bytes, want %d", format, layout.Size, len(wide.data))
		}
		for _, plane := range storage.Planes[:storage.PlaneCount] {
			wide.info.Range.AspectMask = plane.Aspect
			info := wide.info
			info.Layout = &layout
			v, err := NewImageView(&info)
			if err != nil {
				t.Fatal(err)
			}
			size := extent
			size[2] = layers
			if !v.arrayed {
				size[2] = 0
			}
			if v.Samples() != samples || v.Levels() != 1 || v.Size(0) != size {
				t.Fatalf("%v: %d samples, %d levels of %v", format, v.Samples(), v.Levels(), v.Size(0))
			}
			for range 20 {
				checkSamples(t, r, wide, v)
			}
		}
	}
}

// checkSamples fetches samples inside and outside, and samples that no operand names.
func checkSamples(t *testing.T, r *rand.Rand, wide *picture, v *View) {
	t.Helper()
	var at, inWide [3]Lanes
	var sample Lanes
	for i := range Width {
		for axis := range at {
			at[axis][i] = uint32(r.IntN(int(v.levels[0].size[axis])+2) - 1)
		}
		sample[i] = []uint32{uint32(r.IntN(v.samples)), uint32(r.IntN(v.samples)), uint32(v.samples), r.Uint32()}[r.IntN(4)]
	}
	active := Mask(r.Uint32()) | 1
	for _, samples := range []*Lanes{&sample, nil} {
		inWide = at
		for i := range Width {
			n := uint32(0)
			if samples != nil {
				n = samples[i]
			}
			if x := at[0][i]; x < v.levels[0].size[0] && n < uint32(v.samples) {
				inWide[0][i] = x*uint32(v.samples) + n
			} else {
				inWide[0][i] = math.MaxInt32
			}
		}
		var got Texels
		v.Fetch(&got, &at, nil, samples, active)
		for lane := range Width {
			if active.Has(lane) {
				checkFetched(t, wide, v, &got, &inWide, 0, lane)
			}
		}
	}
}

// Operations that know no samples, which shaders must not do to such images, are about the first one.
func TestFirstSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	storage, _ := texel.FormatOf(vk.FORMAT_R32_UINT)
	layout, _ := texel.NewLayout(storage, [3]uint32{5, 3, 1}, 1, 2, 4)
	info := ImageView{Data: make([]byte, layout.Size), Layout: &layout, Type: vk.IMAGE_VIEW_TYPE_2D_ARRAY,
		Format: vk.FORMAT_R32_UINT,
		Range:  vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 2}}
	v, err := NewImageView(&info)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		var at [3]Lanes
		for i := range Width {
			for axis := range at {
				at[axis][i] = uint32(r.IntN(8) - 1)
			}
		}
		v.Write(&at, &Texels{{1, 1, 1, 1, 1, 1, 1, 1}}, All)
		v.Atomic(AtomicOr, &Word{}, &at, &Word{{1, 1, 1, 1, 1, 1, 1, 1}}, &Word{}, All)
		with := randomSampler(r)
		var got [3]Texels
		q := randomLookup(r, v, with)
		v.Routine(NewSampler(with), q).Sample(&got[0], q, All)
		v.Routine(NewSampler(with), q).Gather(&got[1], q, 0, nil, All)
		v.Read(&got[2], &at, All)
	}
	for i, b := range info.Data {
		first := i%80 < 5*16 && i%16 == 0 // rows are five texels of four samples of four bytes
		if within := i%int(layout.LayerPitch) < 3*80; (b == 1) != (first && within) {
			t.Errorf("byte %d is %d", i, b)
		}
	}
}

// What is written is what a codec makes of the numbers, and nothing else changes.
func TestWriteOfEveryFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	n := 0
	for _, format := range vk.AllFormats {
		if !AccessOf(format).Storage {
			continue
		}
		n++
		viewType := planarTypes[n%len(planarTypes)]
		extent, _, layers := shape(viewType)
		p, v := newPicture(t, r, format, viewType, extent, 1, layers)
		want := bytes.Clone(p.data)
		for range 20 {
			var at [3]Lanes
			var src Texels
			active := Mask(r.Uint32())
			for i := range Width {
				for axis := range at {
					at[axis][i] = uint32(r.IntN(int(extent[axis])+2) - 1)
				}
				if viewType == vk.IMAGE_VIEW_TYPE_1D_ARRAY {
					at[1][i] = uint32(r.IntN(5) - 1)
				}
				if viewType == vk.IMAGE_VIEW_TYPE_2D_ARRAY {
					at[2][i] = uint32(r.IntN(5) - 1)
				}
				for c := range src {
					src[c][i] = bits(float32(r.NormFloat64()))
					if v.format.Class != texel.Float {
						src[c][i] = r.Uint32() >> r.IntN(32)
					}
				}
			}
			v.Write(&at, &src, active)
			for lane := range Width {
				if active.Has(lane) {
					p.expect(v, want, &at, &src, lane)
				}
			}
			if !bytes.Equal(p.data, want) {
				t.Fatalf("%v %v: other bytes than expected", viewType, format)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d formats", n)
	}
}

// expect writes a texel with the codec.
func (p *picture) expect(v *View, data []byte, at *[3]Lanes, src *Texels, lane int) {
	x, y, z, layer := at[0][lane], uint32(0), uint32(0), uint32(0)
	switch p.info.Type {
	case vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		layer = at[1][lane]
	case vk.IMAGE_VIEW_TYPE_2D:
		y = at[1][lane]
	case vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		y, layer = at[1][lane], at[2][lane]
	case vk.IMAGE_VIEW_TYPE_3D:
		y, z = at[1][lane], at[2][lane]
	}
	e := p.extent(0)
	s, ok := p.layout.Subresource(p.info.Range.AspectMask, 0, layer)
	if !ok || x >= uint32(e[0]) || y >= uint32(e[1]) || z >= uint32(e[2]) {
		return
	}
	codec, _ := texel.CodecOf(p.info.Format, p.info.Range.AspectMask)
	to := data[s.Offset+uint64(z)*s.DepthPitch+uint64(y)*s.RowPitch+uint64(x)*uint64(codec.Size()):][:codec.Size()]
	switch {
	case v.Wide():
		binary.LittleEndian.PutUint64(to, uint64(src[0][lane])|uint64(src[1][lane])<<32)
	case codec.Class() == texel.Float:
		var n [4]float64
		for c := range n {
			n[c] = float64(float(src[c][lane]))
		}
		codec.EncodeFloat(to, [][4]float64{n})
	case codec.Class() == texel.Uint:
		var n [4]uint64
		for c := range n {
			n[c] = uint64(src[c][lane])
		}
		codec.EncodeUint(to, [][4]uint64{n})
	default:
		var n [4]int64
		for c := range n {
			n[c] = int64(int32(src[c][lane]))
		}
		codec.EncodeSint(to, [][4]int64{n})
	}
}

// A view shows a part of an image: some levels, some layers, with its components exchanged.
func TestPartsOfImages(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	p, _ := newPicture(t, r, vk.FORMAT_R8G8_UNORM, vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{16, 12, 1}, 4, 5)
	p.info.Range.BaseMipLevel, p.info.Range.LevelCount = 1, 2
	p.info.Range.BaseArrayLayer, p.info.Range.LayerCount = 2, 3
	p.info.Swizzle = vk.ComponentMapping{R: vk.COMPONENT_SWIZZLE_G, G: vk.COMPONENT_SWIZZLE_ONE, B: vk.COMPONENT_SWIZZLE_R,
		A: vk.COMPONENT_SWIZZLE_ZERO}
	v, err := NewImageView(&p.info)
	if err != nil {
		t.Fatal(err)
	}
	if v.Levels() != 2 || v.Size(0) != [3]uint32{8, 6, 3} || v.Size(1) != [3]uint32{4, 3, 3} || v.Size(2) != [3]uint32{} {
		t.Errorf("%d levels of %v and %v", v.Levels(), v.Size(0), v.Size(1))
	}
	var got Texels
	v.Fetch(&got, &[3]Lanes{{3}, {2}, {1}}, &Lanes{1}, nil, All)
	want, _ := p.texel(1, 3, 3, 2, 0) // of level 1 of the view
	if n := value(v, &got, 0, false); !same(n, numbers{want[1], 1, want[0], 0}, 1e-6) {
		t.Errorf("%v, want %v exchanged", n, want)
	}
	// The same by way of a sampler and of a gather, whose component is that of the view.
	q := &Lookup{Mode: LodExplicit, Lod: Lanes{bits(1)}, Coordinates: [4]Lanes{{bits(0.99)}, {bits(0.99)}, {bits(1)}}}
	v.Routine(NewSampler(&SamplerInfo{MaxLod: 5}), q).Sample(&got, q, All)
	if n := value(v, &got, 0, false); !same(n, numbers{want[1], 1, want[0], 0}, 1e-6) {
		t.Errorf("sampled %v, want %v exchanged", n, want)
	}
	for component, from := range []int{1, -1, 0, -2} {
		v.Routine(nil, q).Gather(&got, q, uint32(component), nil, All)
		texel, _ := p.texel(0, 3, 7, 5, 0) // at (0, 0) of the footprint, whose last texel it is
		wanted := map[int]float64{-1: 1, -2: 0}[from]
		if from >= 0 {
			wanted = texel[from]
		}
		if n := value(v, &got, 0, false); math.Abs(n[3]-wanted) > 1e-6 {
			t.Errorf("component %d gathers %v, want %v", component, n, wanted)
		}
	}
}

func TestStencilOfTwoAspects(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	p, _ := newPicture(t, r, vk.FORMAT_D24_UNORM_S8_UINT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{8, 8, 1}, 1, 1)
	p.info.Range.AspectMask = vk.IMAGE_ASPECT_STENCIL_BIT
	v, err := NewImageView(&p.info)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := p.layout.Subresource(vk.IMAGE_ASPECT_STENCIL_BIT, 0, 0)
	p.data[s.Offset+3*s.RowPitch+2] = 99
	var got Texels
	v.Fetch(&got, &[3]Lanes{{2}, {3}}, nil, nil, All)
	if got[0][0] != 99 || got[1][0] != 0 || got[3][0] != 1 {
		t.Errorf("stencil %v", got)
	}
}

// Slices of a volume are the layers of a two-dimensional view.
func TestSlicesAsLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	p, _ := newPicture(t, r, vk.FORMAT_R32_UINT, vk.IMAGE_VIEW_TYPE_3D, [3]uint32{4, 4, 8}, 2, 1)
	p.info.Type = vk.IMAGE_VIEW_TYPE_2D_ARRAY
	p.info.Range.BaseMipLevel, p.info.Range.LevelCount, p.info.Range.BaseArrayLayer, p.info.Range.LayerCount = 1, 1, 1, 3
	v, err := NewImageView(&p.info)
	if err != nil {
		t.Fatal(err)
	}
	var got Texels
	v.Fetch(&got, &[3]Lanes{{1, 1}, {1, 1}, {2, 3}}, nil, nil, All)
	want, _ := p.texel(0, 0, 1, 1, 3)
	if v.Size(0) != [3]uint32{2, 2, 3} || float64(got[0][0]) != want[0] || got[0][1] != 0 {
		t.Errorf("size %v, texel %v, want %v and 0", v.Size(0), got[0][:2], want[0])
	}
}

// Blocks of a compressed image are texels of a view with another format.
func TestBlocksAsTexels(t *testing.T) {
	storage, _ := texel.FormatOf(vk.FORMAT_BC1_RGB_UNORM_BLOCK)
	layout, _ := texel.NewLayout(storage, [3]uint32{10, 6, 1}, 2, 1, 1)
	info := ImageView{Data: make([]byte, layout.Size), Layout: &layout, Type: vk.IMAGE_VIEW_TYPE_2D,
		Format: vk.FORMAT_R32G32_UINT,
		Range:  vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}}
	v, err := NewImageView(&info)
	if err != nil || v.Size(0) != [3]uint32{3, 2} {
		t.Fatalf("%v, %v", v, err)
	}
	v.Write(&[3]Lanes{{2}, {1}}, &Texels{{7}, {8}}, 1)
	s, _ := layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0)
	if at := s.Offset + s.RowPitch + 16; info.Data[at] != 7 || info.Data[at+4] != 8 {
		t.Errorf("written to %v", info.Data)
	}
	info.Format = vk.FORMAT_BC1_RGB_UNORM_BLOCK
	if v, err = NewImageView(&info); err != nil || v.Size(0) != [3]uint32{10, 6} {
		t.Fatalf("as blocks: %v, %v", v, err)
	}
	before := bytes.Clone(info.Data)
	v.Write(&[3]Lanes{{9}, {5}}, &Texels{{7}, {8}}, 1)
	if !bytes.Equal(info.Data, before) {
		t.Error("a texel of a block was written")
	}
}

func TestViewsThatDoNotFit(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	p, _ := newPicture(t, r, vk.FORMAT_R8_UNORM, vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{16, 16, 1}, 2, 6)
	for name, change := range map[string]func(v *ImageView){
		"too little memory": func(v *ImageView) { v.Data = v.Data[:len(v.Data)-300] },
		"no such level":     func(v *ImageView) { v.Range.LevelCount = 3 },
		"no such layer":     func(v *ImageView) { v.Range.BaseArrayLayer = 6 },
		"no such type":      func(v *ImageView) { v.Type = 99 },
		"too many layers":   func(v *ImageView) { v.Range.LayerCount = 7 },
		"no cube":           func(v *ImageView) { v.Type, v.Range.LayerCount = vk.IMAGE_VIEW_TYPE_CUBE, 5 },
		"no such aspect":    func(v *ImageView) { v.Range.AspectMask = vk.IMAGE_ASPECT_DEPTH_BIT },
	} {
		info := p.info
		change(&info)
		if _, err := NewImageView(&info); err == nil {
			t.Errorf("%s: a view", name)
		}
	}
	if _, err := NewBufferView(nil, vk.FORMAT_BC1_RGB_UNORM_BLOCK); err == nil {
		t.Error("a buffer of blocks")
	}
}

// Additions from several goroutines to the same texels are all there at the end.
func TestAtomicsOfManyCores(t *testing.T) {
	for _, format := range []vk.Format{vk.FORMAT_R32_UINT, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R64_UINT} {
		data := make([]byte, 64)
		v, err := NewBufferView(data, format)
		if err != nil {
			t.Fatal(err)
		}
		op, operand := AtomicAdd, Word{{1, 1, 1, 1, 1, 1, 1, 1}}
		if format == vk.FORMAT_R32_SFLOAT {
			op = AtomicAddF
			for i := range operand[0] {
				operand[0][i] = bits(1)
			}
		}
		at := [3]Lanes{{0, 1, 2, 3, 0, 0, 99, 99}}
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				var old Word
				for range 500 {
					v.Atomic(op, &old, &at, &operand, &operand, All)
				}
			})
		}
		wait.Wait()
		var got Texels
		v.Read(&got, &at, All)
		for lane, want := range []float64{6000, 2000, 2000, 2000} {
			if n := value(v, &got, lane, false)[0]; n != want {
				t.Errorf("%v: texel %d is %v, want %v", format, lane, n, want)
			}
		}
	}
}

func TestAtomicFloats(t *testing.T) {
	nan := math.Float32frombits(0x7fc00000)
	for _, c := range []struct {
		op         AtomicOp
		old, value float32
		want       float32
	}{
		{AtomicAddF, 1.5, 2, 3.5}, {AtomicMinF, 1, -2, -2}, {AtomicMaxF, 1, -2, 1}, {AtomicMinF, nan, 2, 2},
		{AtomicMaxF, 3, nan, 3}, {AtomicExchange, 3, 4, 4},
	} {
		v, err := NewBufferView(make([]byte, 4), vk.FORMAT_R32_SFLOAT)
		if err != nil {
			t.Fatal(err)
		}
		at := [3]Lanes{}
		v.Write(&at, &Texels{{bits(c.old)}}, 1)
		var old Word
		v.Atomic(c.op, &old, &at, &Word{{bits(c.value)}}, &Word{}, 1)
		var got Texels
		v.Read(&got, &at, 1)
		if float(got[0][0]) != c.want || old[0][0] != bits(c.old) {
			t.Errorf("operation %d of %v and %v: %v, %v before", c.op, c.old, c.value, float(got[0][0]), float(old[0][0]))
		}
	}
}
