package compute

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"farside/compute/internal/vm"
	"farside/compute/internal/vmtest"
)

// example is a program of the benchmarks, at a size.
type example struct {
	name    string
	groups  [3]uint32
	buffers [][]uint32
	push    []uint32
	check   func(t testing.TB, buffers [][]uint32)
}

func floats(n int) []uint32 {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	words := make([]uint32, n)
	for i := range words {
		words[i] = math.Float32bits(random.Float32() - 0.5)
	}
	return words
}

func f32(word uint32) float64 { return float64(math.Float32frombits(word)) }

// expect compares floats.
func expect(t testing.TB, what string, i int, got uint32, want, tolerance float64) {
	t.Helper()
	if d := math.Abs(f32(got) - want); !(d <= tolerance) {
		t.Fatalf("%s: %d is %v, not %v", what, i, f32(got), want)
	}
}

// examples are the programs of the benchmarks; scale is about the logarithm of how large.
func examples(scale int) []example {
	n := 1 << (2 * scale) // elements of vectors
	side := 1 << scale    // of matrices and images
	values := make([]uint32, n)
	for i := range values {
		values[i] = rand.Uint32()
	}
	groups := [3]uint32{uint32(n / 256), 1, 1}
	tiles := [3]uint32{uint32(side / 16), uint32(side / 16), 1}
	bodies := max(4*side, 256)
	x := floats(n)
	return []example{
		{"copy", groups, [][]uint32{make([]uint32, n), x}, nil, func(t testing.TB, b [][]uint32) {
			for i, y := range b[0] {
				expect(t, "copy", i, y, f32(x[i]), 0)
			}
		}},
		{"saxpy", groups, [][]uint32{make([]uint32, n), x}, []uint32{math.Float32bits(1.5), uint32(n - 3)},
			func(t testing.TB, b [][]uint32) {
				for i, y := range b[0] {
					want := 1.5 * f32(x[i])
					if i >= n-3 {
						want = 0
					}
					expect(t, "saxpy", i, y, want, 1e-6)
				}
			}},
		{"reduce", groups, [][]uint32{make([]uint32, n/256), x}, nil, func(t testing.TB, b [][]uint32) {
			for i, y := range b[0] {
				want := 0.0
				for _, v := range x[256*i : 256*i+256] {
					want += f32(v)
				}
				expect(t, "reduce", i, y, want, 1e-4)
			}
		}},
		{"matmul", tiles, [][]uint32{make([]uint32, n), floats(n), floats(n)}, []uint32{uint32(side)},
			func(t testing.TB, b [][]uint32) {
				for i := 0; i < n; i += 37 {
					want := 0.0
					for k := range side {
						want += f32(b[1][i/side*side+k]) * f32(b[2][k*side+i%side])
					}
					expect(t, "matmul", i, b[0][i], want, 1e-3)
				}
			}},
		{"nbody", [3]uint32{uint32(bodies / 256), 1, 1}, [][]uint32{make([]uint32, 4*bodies), floats(4 * bodies)},
			[]uint32{uint32(bodies)},
			func(t testing.TB, b [][]uint32) {
				for i := 0; i < bodies; i += 53 {
					var want [3]float64
					for k := range bodies {
						var d [3]float64
						square := 0.01
						for j := range d {
							d[j] = f32(b[1][4*k+j]) - f32(b[1][4*i+j])
							square += d[j] * d[j]
						}
						for j := range d {
							want[j] += d[j] * f32(b[1][4*k+3]) / (square * math.Sqrt(square))
						}
					}
					for j := range want {
						expect(t, "nbody", i, b[0][4*i+j], want[j], 0.05+1e-3*math.Abs(want[j]))
					}
				}
			}},
		{"histogram", groups, [][]uint32{make([]uint32, 256), values}, nil, func(t testing.TB, b [][]uint32) {
			want := make([]uint32, 256)
			for _, v := range values {
				want[v&255]++
			}
			for i, got := range b[0] {
				if got != want[i] {
					t.Fatalf("histogram: %d is %d, not %d", i, got, want[i])
				}
			}
		}},
		{"mandelbrot", tiles, [][]uint32{make([]uint32, n)}, []uint32{uint32(side)}, func(t testing.TB, b [][]uint32) {
			wrong := 0
			for i, got := range b[0] {
				cx, cy := float32(i%side)*(3/float32(side))-2, float32(i/side)*(3/float32(side))-1.5
				var x, y float32
				count := uint32(0)
				for ; count < 256 && x*x+y*y <= 4; count++ {
					x, y = x*x-y*y+cx, 2*x*y+cy
				}
				if got != count {
					wrong++
				}
			}
			if wrong > n/200 { // products and sums may be rounded once
				t.Fatalf("mandelbrot: %d of %d points differ", wrong, n)
			}
		}},
		{"sort", [3]uint32{uint32(n / 512), 1, 1}, [][]uint32{make([]uint32, n), values}, nil, checkSort(values)},
		{"sha256", [3]uint32{uint32(n / 1024), 1, 1}, [][]uint32{make([]uint32, n/2), values}, nil, checkSHA256(values)},
		{"filter", tiles, [][]uint32{make([]uint32, n/4), values[:n/4]}, []uint32{uint32(side)}, checkFilter(values, side)},
	}
}

// checkSort checks what sorts 512 words in each workgroup.
func checkSort(values []uint32) func(t testing.TB, buffers [][]uint32) {
	return func(t testing.TB, b [][]uint32) {
		for from := 0; from < len(values); from += 512 {
			if !slices.Equal(b[0][from:from+512], slices.Sorted(slices.Values(values[from:from+512]))) {
				t.Fatalf("sort: the words from %d on are not sorted", from)
			}
		}
	}
}

// checkSHA256 checks what does the compression of a block of SHA-256 in each invocation.
func checkSHA256(values []uint32) func(t testing.TB, buffers [][]uint32) {
	return func(t testing.TB, b [][]uint32) {
		for i := range len(values) / 16 {
			block := make([]byte, 64)
			for k, word := range values[16*i : 16*i+16] {
				binary.BigEndian.PutUint32(block[4*k:], word)
			}
			// The state behind a whole block lies in what a hash writes of itself, behind four bytes of its name.
			hash := sha256.New()
			hash.Write(block)
			state, err := hash.(encoding.BinaryMarshaler).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			for k, got := range b[0][8*i : 8*i+8] {
				if want := binary.BigEndian.Uint32(state[4+4*k:]); got != want {
					t.Fatalf("sha256: word %d of block %d is %#x, not %#x", k, i, got, want)
				}
			}
		}
	}
}

// checkFilter checks a filter of 5 x 5 pixels of 8 bits.
func checkFilter(values []uint32, side int) func(t testing.TB, buffers [][]uint32) {
	pixel := func(words []uint32, x, y int) int {
		at := min(max(y, 0), side-1)*side + min(max(x, 0), side-1)
		return int(words[at/4] >> (at % 4 * 8) & 255)
	}
	return func(t testing.TB, b [][]uint32) {
		for at := range side * side {
			x, y, sum := at%side, at/side, 128
			for v, down := range []int{1, 4, 6, 4, 1} {
				for u, right := range []int{1, 4, 6, 4, 1} {
					sum += down * right * pixel(values, x+u-2, y+v-2)
				}
			}
			if got := pixel(b[0], x, y); got != sum/256 {
				t.Fatalf("filter: pixel %d,%d is %d, not %d", x, y, got, sum/256)
			}
		}
	}
}

// compileExample compiles a shader of testdata.
func compileExample(t testing.TB, name string) *Program {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "shaders", name+".comp"))
	if err != nil {
		t.Fatal(err)
	}
	return compileWords(t, glslWords(t, string(source)), Options{})
}

func (s *example) dispatch() *vm.Dispatch {
	d := dispatch(s.groups, vmtest.Buffers{Words: s.buffers})
	for _, word := range s.push {
		d.PushConstants = binary.LittleEndian.AppendUint32(d.PushConstants, word)
	}
	return d
}

func TestExamples(t *testing.T) {
	for _, s := range examples(6) {
		t.Run(s.name, func(t *testing.T) {
			mustRun(t, compileExample(t, s.name), s.dispatch())
			s.check(t, s.buffers)
		})
	}
}

// processorTime is what the process has used of all processors, in nanoseconds: what it did, however busy they are.
func processorTime(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func BenchmarkExamples(b *testing.B) {
	for _, s := range examples(10) {
		b.Run(s.name, func(b *testing.B) {
			p, d := compileExample(b, s.name), s.dispatch()
			start := processorTime(b)
			for b.Loop() {
				if err := p.Run(d); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-start)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}
