package sampling

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"farside/internal/lanes"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Views with the assembly give the bits that views without it give: samples, gathers, fetches and storage accesses of
// all view types. One Lookup after the other uses the same room for work, with any lanes active.
func TestRoutinesInAssembly(t *testing.T) {
	if !lanes.Vectors() {
		t.Skip("no AVX2, FMA and F16C here")
	}
	r := rand.New(rand.NewPCG(31, 32))
	var q Lookup
	types := append([]vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY}, planarTypes...)
	for _, viewType := range types {
		for _, format := range sampledFormats {
			extent, levels, layers := shape(viewType)
			p, fast := newPicture(t, r, format, viewType, extent, levels, layers)
			plain, err := newImageView(&p.info, false)
			if err != nil {
				t.Fatal(err)
			}
			for range 60 {
				compareViews(t, r, fast, plain, &q)
			}
		}
	}
}

func compareViews(t *testing.T, r *rand.Rand, fast, plain *View, q *Lookup) {
	t.Helper()
	s := randomSampler(r)
	s.MaxAnisotropy = float32(r.IntN(3) * 4)
	s.ReductionMode = vk.SamplerReductionMode(max(r.IntN(6)-3, 0))
	random := randomLookup(r, fast, s)
	random.work, random.Compare = q.work, fast.format.Linear() && r.IntN(4) == 0
	*q = *random
	active := All
	if r.IntN(2) == 0 {
		active = Mask(r.Uint32())
	}
	compareSamples(t, fast, plain, s, q, r.Uint32N(4), active)
	var at [3]Lanes
	var lod Lanes
	for i := range lod {
		lod[i] = r.Uint32N(6)
		for axis := range at {
			at[axis][i] = r.Uint32N(16) - 1
		}
	}
	compareBits(t, fast, plain, active, "fetch", func(v *View, dst *Texels) { v.Fetch(dst, &at, &lod, nil, active) })
	compareBits(t, fast, plain, active, "read", func(v *View, dst *Texels) { v.Read(dst, &at, active) })
}

// compareSamples compares a sample and, of views of two axes, gathers.
func compareSamples(t *testing.T, fast, plain *View, s *SamplerInfo, q *Lookup, component uint32, active Mask) {
	t.Helper()
	sampler := NewSampler(s)
	check := func(name string, run func(r *Routine, dst *Texels)) {
		t.Helper()
		compareBits(t, fast, plain, active, fmt.Sprintf("%s, %+v, %v", name, *s, describe(q, 0)),
			func(v *View, dst *Texels) { run(v.Routine(sampler, q), dst) })
	}
	check("sample", func(r *Routine, dst *Texels) { r.Sample(dst, q, active) })
	if fast.axes == 2 {
		check("gather", func(r *Routine, dst *Texels) { r.Gather(dst, q, component, nil, active) })
		shifts := &[4][2]int32{{-3, 5}, {7, 0}, {1, 1}, {-8, -8}}
		check("gather with offsets", func(r *Routine, dst *Texels) { r.Gather(dst, q, component, shifts, active) })
	}
}

// compareBits compares what both views give in the active lanes. Which NaN a sum of two is isn't said.
func compareBits(t *testing.T, fast, plain *View, active Mask, name string, run func(v *View, dst *Texels)) {
	t.Helper()
	var got, want Texels
	run(fast, &got)
	run(plain, &want)
	for c := range want {
		for i, w := range want[c] {
			if g := got[c][i]; active.Has(i) && g != w &&
				!(fast.format.Class == texel.Float && float(g) != float(g) && float(w) != float(w)) {
				t.Fatalf("%s, %d axes: component %d of lane %d is %x, want %x", name, fast.axes, c, i, g, w)
			}
		}
	}
}

// Any bits as coordinates, levels of detail, derivatives, biases, offsets and references, NaN and infinities included,
// on any sampler: nothing panics, and the assembly gives the bits that Go gives.
func FuzzSample(f *testing.F) {
	r := rand.New(rand.NewPCG(35, 36))
	var views [][2]*View
	for _, viewType := range append([]vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY},
		planarTypes...) {
		for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_D32_SFLOAT,
			vk.FORMAT_R32G32_UINT, vk.FORMAT_BC3_SRGB_BLOCK} {
			extent, levels, layers := shape(viewType)
			p, fast := newPicture(f, r, format, viewType, extent, levels, layers)
			plain, err := newImageView(&p.info, false)
			if err != nil {
				f.Fatal(err)
			}
			views = append(views, [2]*View{fast, plain})
		}
	}
	f.Add(uint64(0), []byte{})
	f.Add(uint64(1<<63|12345), []byte("\x00\x00\xc0\x7f\x00\x00\x80\x7f\x00\x00\x80\xff\xff\xff\x7f\x7f"))
	for range 200 {
		data := make([]byte, 4*r.IntN(200))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(r.Uint64(), data)
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		both := views[r.IntN(len(views))]
		s, active := randomSampler(r), Mask(r.Uint32())
		s.MaxAnisotropy = float32(r.IntN(3) * 8)
		s.ReductionMode = vk.SamplerReductionMode(max(r.IntN(6)-3, 0))
		q := randomLookup(r, both[0], s)
		q.Compare = both[0].format.Linear() && r.IntN(4) == 0
		rows := []*Lanes{&q.Coordinates[0], &q.Coordinates[1], &q.Coordinates[2], &q.Coordinates[3], &q.Lod, &q.Bias,
			&q.MinLod, &q.Dref, &q.Dx[0], &q.Dx[1], &q.Dx[2], &q.Dy[0], &q.Dy[1], &q.Dy[2], &q.Offset[0], &q.Offset[1],
			&q.Offset[2]}
		for n := 0; len(data) >= 4 && n < len(rows)*Width; n++ {
			rows[n/Width][n%Width] = binary.LittleEndian.Uint32(data)
			data = data[4:]
		}
		compareSamples(t, both[0], both[1], s, q, r.Uint32N(4), active)
	})
}

// A view gives the same routine again for the same instruction and sampler, and another one for others; those that were
// asked for long ago are made anew.
func TestRoutinesAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	_, v := newPicture(t, r, vk.FORMAT_D32_SFLOAT, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{4, 4, 1}, 2, 1)
	one, other := NewSampler(&SamplerInfo{}), NewSampler(&SamplerInfo{})
	first := v.Routine(one, &Lookup{})
	if v.Routine(one, &Lookup{}) != first {
		t.Error("a routine isn't kept")
	}
	for name, got := range map[string]*Routine{
		"sampler": v.Routine(other, &Lookup{}), "no sampler": v.Routine(nil, &Lookup{}),
		"comparison": v.Routine(one, &Lookup{Compare: true}), "mode": v.Routine(one, &Lookup{Mode: LodExplicit}),
		"bias": v.Routine(one, &Lookup{HasBias: true}),
	} {
		if got == first {
			t.Errorf("another %s gives the same routine", name)
		}
	}
	for range 2 * len(v.routines.slots) {
		v.Routine(NewSampler(&SamplerInfo{}), &Lookup{})
	}
	if again := v.Routine(one, &Lookup{}); again == first || again.sampler != one {
		t.Error("a routine is kept for ever, or the new one is of another sampler")
	}
	if (*View)(nil).Routine(one, &Lookup{}) != nil {
		t.Error("no view has a routine")
	}
}
