package compute

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"farside/compute/internal/vm"
	"farside/compute/internal/vmtest"
)

// benchShader is a shader of conformance/shaders/bench: dispatched to so many workgroups, with a word as push
// constants. It reads words at bindings 0 and 2, floats or any, and writes so many at binding 1.
type benchShader struct {
	name   string
	groups [2]uint32
	push   uint32
	floats bool
	output int
}

var benchShaders = []benchShader{
	{"bilateral", [2]uint32{16, 16}, 256, true, 256 * 256},
	{"branches", [2]uint32{64, 1}, 0, false, 64 * 256},
	{"chacha", [2]uint32{64, 1}, 0, false, 64 * 4096},
	{"cholesky", [2]uint32{16, 1}, 0, true, 16 * 1024},
	{"collatz", [2]uint32{64, 1}, 0, false, 64 * 256},
	{"compact", [2]uint32{32, 1}, 0, false, 32 * 256},
	{"copy", [2]uint32{1024, 1}, 0, false, 1024 * 256},
	{"crc", [2]uint32{16, 1}, 0, false, 16 * 64},
	{"doubles", [2]uint32{8, 1}, 0, false, 8 * 256},
	{"exponents", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"fft", [2]uint32{64, 1}, 0, true, 64 * 1024},
	{"filter", [2]uint32{16, 16}, 256, false, 256 * 256 / 4},
	{"floatsum", [2]uint32{32, 1}, 0, true, 32 * 64},
	{"functions", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"hash", [2]uint32{16, 1}, 0, false, 16 * 512},
	{"machine", [2]uint32{64, 1}, 0, false, 64 * 256},
	{"mandelbrot", [2]uint32{16, 16}, 256, false, 256 * 256},
	{"matrix", [2]uint32{8, 8}, 128, true, 128 * 128},
	{"modular", [2]uint32{16, 1}, 0, false, 16 * 512},
	{"morton", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"nbody", [2]uint32{4, 1}, 1024, true, 4 * 1024},
	{"product", [2]uint32{1, 1}, 128, true, 128 * 128},
	{"queens", [2]uint32{4, 1}, 0, false, 4 * 64},
	{"radix", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"random", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"rays", [2]uint32{32, 1}, 0, false, 32 * 64},
	{"reduction", [2]uint32{256, 1}, 0, true, 256},
	{"saxpy", [2]uint32{256, 1}, math.Float32bits(0.5), true, 256 * 256},
	{"sha256", [2]uint32{32, 1}, 0, false, 32 * 8 * 256},
	{"simplex", [2]uint32{16, 16}, 256, false, 256 * 256},
	{"sort", [2]uint32{64, 1}, 0, false, 64 * 512},
	{"sparse", [2]uint32{64, 1}, 0, false, 64 * 256},
	{"table", [2]uint32{16, 1}, 0, false, 16 * 256},
	{"tiles", [2]uint32{2, 2}, 128, true, 128 * 128},
	{"tree", [2]uint32{16, 1}, 0, false, 16 * 256},
}

func (s *benchShader) compile(t testing.TB, o Options) *Program {
	text, err := os.ReadFile(filepath.Join("..", "conformance", "shaders", "bench", s.name+".comp"))
	if err != nil {
		t.Fatal(err)
	}
	return compileWords(t, glslWords(t, string(text)), o)
}

// dispatch gives what the shader is run with, and where it writes.
func (s *benchShader) dispatch() (*vm.Dispatch, []uint32) {
	r := rand.New(rand.NewPCG(1, 1))
	in, second, out := make([]uint32, 1<<20), make([]uint32, 1<<18), make([]uint32, s.output)
	for _, words := range [][]uint32{in, second} {
		for i := range words {
			if words[i] = r.Uint32(); s.floats || i > 0 && &words[0] == &second[0] {
				words[i] = math.Float32bits(float32(words[i] % 16))
			}
		}
	}
	groups := s.groups
	if raceEnabled { // machine code has no detector, and Go around it is slow with it
		groups = [2]uint32{max(1, groups[0]/8), max(1, groups[1]/8)}
	}
	d := dispatch([3]uint32{groups[0], groups[1], 1}, vmtest.Buffers{Words: [][]uint32{in, out, second}})
	d.PushConstants = binary.NativeEndian.AppendUint32(nil, s.push)
	return d, out
}

// TestPairs runs the shaders of the benchmarks, whose results don't depend on how wide the machine code's vectors are.
func TestPairs(t *testing.T) {
	for _, s := range benchShaders {
		t.Run(s.name, func(t *testing.T) {
			var results [2][]uint32
			for k := range results {
				d, out := s.dispatch()
				mustRun(t, s.compile(t, Options{Narrow: k == 1}), d)
				results[k] = out
			}
			if !slices.ContainsFunc(results[0], func(w uint32) bool { return w != 0 }) {
				t.Error("it writes nothing")
			}
			for i, w := range results[0] {
				if w != results[1][i] {
					t.Fatalf("word %d is %#x, in narrow machine code %#x", i, w, results[1][i])
				}
			}
		})
	}
}

// BenchmarkPairs times shaders in turns in narrow machine code and in that for pairs of chunks, and tells the ratio.
func BenchmarkPairs(b *testing.B) {
	for _, s := range benchShaders {
		b.Run(s.name, func(b *testing.B) {
			d, _ := s.dispatch()
			programs := []*Program{s.compile(b, Options{}), s.compile(b, Options{Narrow: true})}
			var times [2][]float64
			for b.Loop() {
				for k, p := range programs {
					start := time.Now()
					if err := p.Run(d); err != nil {
						b.Fatal(err)
					}
					times[k] = append(times[k], float64(time.Since(start).Nanoseconds()))
				}
			}
			var medians [2]float64
			for k, list := range times {
				slices.Sort(list)
				medians[k] = list[len(list)/2]
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(medians[0]/1e3, "pairs-µs")
			b.ReportMetric(medians[1]/1e3, "narrow-µs")
			b.ReportMetric(medians[0]/medians[1], "ratio")
		})
	}
}

// TestBenchShaders: all but one of the benchmarks' shaders, which do nothing or whose words differ from run to run.
func TestBenchShaders(t *testing.T) {
	files, err := filepath.Glob("../conformance/shaders/bench/*.comp")
	if err != nil || len(files) != len(benchShaders)+2 {
		t.Errorf("%d files, %v: empty and histogram are the others", len(files), err)
	}
	for _, s := range benchShaders {
		if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, fmt.Sprintf("/%s.comp", s.name)) }) {
			t.Errorf("there is no shader %s", s.name)
		}
	}
}
