package draw

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"testing"

	"farside/compute"
	"farside/internal/vk"
)

// lightShader costs next to nothing itself: it says for whole batches that it has run. Its outputs are its inputs.
type lightShader struct{ goShader }

func (s *lightShader) NewBatch(uint64) compute.Batch {
	b := &lightBatch{goBatch: goBatch{goShader: &s.goShader}}
	for range s.in {
		b.inputs = append(b.inputs, make([]uint32, s.Lanes()))
	}
	return b
}

type lightBatch struct{ goBatch }

func (b *lightBatch) Output(i int) []uint32 { return b.inputs[i] }
func (b *lightBatch) Run(_, _ []uint8) bool { return true }

// light replaces the scene's shaders.
func (s *scene) light(lanes int) {
	for _, shader := range []*Shader{&s.state.Vertex, &s.state.Fragment} {
		of := (*shader).(*goShader)
		*shader = &lightShader{goShader{in: of.in, out: of.out, modes: of.modes, lanes: lanes}}
	}
}

// benchmark draws triangles of about so many pixels all over a square, in rows.
func benchmark(b *testing.B, f vk.Format, samples uint32, pixels float64, change func(s *scene)) {
	const size = 512
	s := newScene(b, f, size, size, samples, 4)
	side := math.Sqrt(2 * pixels)
	n := max(int(size/side), 1)
	var data []float32
	if pixels >= size*size/2 {
		n = 0
		for _, v := range [][2]float32{{-1, -1}, {3, -1}, {-1, 3}} {
			data = append(data, v[0], v[1], 0.5, 1, 0.25, 0.5, 0.75, 0.5)
		}
	}
	for y := range n {
		for x := range n {
			left, top := float32(x)/float32(n)*2-1, float32(y)/float32(n)*2-1
			step := float32(2 * side / size)
			data = append(data, left, top, 0.5, 1, 0, 0.5, 1, 0.5)
			data = append(data, left+step, top, 0.5, 1, 1, 0.5, 0, 0.5)
			data = append(data, left, top+step, 0.5, 1, 0, 0, 1, 0.5)
		}
	}
	s.light(256)
	cores := binCores
	binCores = 1 // the time is that of one thread
	b.Cleanup(func() { binCores = cores })
	change(s)
	s.vertices(data...)
	s.draw(b)
	b.ReportAllocs()
	b.ResetTimer()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := cpuTime()
	for range b.N {
		s.stats = Statistics{}
		if err := s.Execute(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	ns := float64(cpuTime()-before) / float64(b.N)
	b.ReportMetric(ns/float64(max(s.stats.Samples, 1)), "cpu-ns/sample")
	b.ReportMetric(ns/float64(s.stats.Counts[countPrimitives]), "cpu-ns/primitive")
}

// cpuTime is how long the thread has run, whoever else has the core.
func cpuTime() int64 {
	const ofThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(ofThread, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkOrdered is what the others are compared with.
func BenchmarkOrdered(b *testing.B) {
	benchmark(b, vk.FORMAT_R8G8B8A8_UNORM, 1, 1e9, func(s *scene) { s.InOrder = true })
}

func BenchmarkFill(b *testing.B) {
	for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_SRGB, vk.FORMAT_R16G16B16A16_SFLOAT,
		vk.FORMAT_R5G6B5_UNORM_PACK16} {
		b.Run(f.String(), func(b *testing.B) { benchmark(b, f, 1, 1e9, func(*scene) {}) })
	}
}

func BenchmarkTriangles(b *testing.B) {
	for _, pixels := range []float64{10, 100, 1000} {
		b.Run(fmt.Sprint(pixels), func(b *testing.B) {
			benchmark(b, vk.FORMAT_R8G8B8A8_UNORM, 1, pixels, func(*scene) {})
		})
	}
}

func BenchmarkDepth(b *testing.B) {
	for _, only := range []bool{true, false} {
		b.Run(fmt.Sprintf("only=%v", only), func(b *testing.B) {
			benchmark(b, vk.FORMAT_R8G8B8A8_UNORM, 1, 1e9, func(s *scene) {
				s.withDepth(b, vk.FORMAT_D32_SFLOAT, 1)
				s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_LESS_OR_EQUAL
				for i := range s.pass.Depth.Image.Bytes {
					s.pass.Depth.Image.Bytes[i] = 0x3f
				}
				if only {
					s.state.Fragment = nil
				}
			})
		})
	}
}

func BenchmarkSamples(b *testing.B) {
	benchmark(b, vk.FORMAT_R8G8B8A8_UNORM, 4, 1e9, func(*scene) {})
}

func BenchmarkBlend(b *testing.B) {
	for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R16G16B16A16_SFLOAT} {
		b.Run(f.String(), func(b *testing.B) {
			benchmark(b, f, 1, 1e9, func(s *scene) {
				s.state.Blends[0] = Blend{BlendEnable: 1, SrcColorBlendFactor: vk.BLEND_FACTOR_SRC_ALPHA,
					DstColorBlendFactor: vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA, SrcAlphaBlendFactor: vk.BLEND_FACTOR_ONE,
					ColorWriteMask: 15}
			})
		})
	}
}
