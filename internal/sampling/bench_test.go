package sampling

import (
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

// operations are what benchmarks and tests of allocation run, on a chunk of lanes.
func operations(t testing.TB, each func(name string, run func())) {
	r := rand.New(rand.NewPCG(1, 1))
	nearest := NewSampler(&SamplerInfo{MaxLod: 0})
	linear := NewSampler(&SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR})
	tri := NewSampler(&SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
		MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR, MaxLod: 9})
	least := NewSampler(&SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
		ReductionMode: vk.SAMPLER_REDUCTION_MODE_MIN})
	for _, f := range []struct {
		name   string
		format vk.Format
	}{{"rgba8", vk.FORMAT_R8G8B8A8_UNORM}, {"r32f", vk.FORMAT_R32_SFLOAT}, {"rgba16f", vk.FORMAT_R16G16B16A16_SFLOAT},
		{"e5b9g9r9", vk.FORMAT_E5B9G9R9_UFLOAT_PACK32}} {
		for _, viewType := range []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_CUBE} {
			layers, name := uint32(1), f.name
			if viewType == vk.IMAGE_VIEW_TYPE_CUBE {
				layers, name = 6, f.name+"/cube"
			}
			_, v := newPicture(t, r, f.format, viewType, [3]uint32{256, 256, 1}, 9, layers)
			q := randomLookup(r, v, &SamplerInfo{})
			q.Mode, q.HasBias, q.HasMinLod, q.HasOffset = LodExplicit, false, false, false
			var at [3]Lanes
			for i := range Width {
				at[0][i], at[1][i] = uint32(r.IntN(256)), uint32(r.IntN(256))
			}
			var dst Texels
			var word Word
			each(name+"/nearest", func() { v.Routine(nearest, q).Sample(&dst, q, All) })
			each(name+"/linear", func() { v.Routine(linear, q).Sample(&dst, q, All) })
			each(name+"/trilinear", func() { v.Routine(tri, q).Sample(&dst, q, All) })
			each(name+"/least", func() { v.Routine(least, q).Sample(&dst, q, All) })
			each(name+"/gather", func() { v.Routine(linear, q).Gather(&dst, q, 0, nil, All) })
			each(name+"/read", func() { v.Read(&dst, &at, All) })
			each(name+"/write", func() { v.Write(&at, &dst, All) })
			each(name+"/atomic", func() { v.Atomic(AtomicAdd, &word, &at, &word, &word, All) })
		}
	}
}

// One operation of the benchmark is a chunk of lanes.
func BenchmarkOperations(b *testing.B) {
	operations(b, func(name string, run func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	})
}

func TestNothingAllocates(t *testing.T) {
	operations(t, func(name string, run func()) {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	})
}
