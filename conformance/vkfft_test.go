package conformance

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farside/conformance/vulkan"
)

var longVkFFT = flag.Bool("vkfft.long", false, "transform all sizes with VkFFT, not some")

// An fftJob is a transform: of complex numbers, or of real ones, whose rows in memory are two longer (the spectrum has
// width/2+1 numbers in each).
type fftJob struct {
	real, wide bool
	size       [3]int
}

func (j fftJob) String() string {
	kind, precision := "c2c", "single"
	if j.real {
		kind = "r2c"
	}
	if j.wide {
		precision = "double"
	}
	return fmt.Sprintf("%s %s %d %d %d", kind, precision, j.size[0], j.size[1], j.size[2])
}

// smooth says whether n has no prime factor above 13. Other sizes VkFFT 1.2.26 computes by convolutions (Bluestein),
// for which it binds no buffers: there it gives zeros, on lavapipe as well.
func smooth(n int) bool {
	for _, p := range []int{2, 3, 5, 7, 11, 13} {
		for n%p == 0 {
			n /= p
		}
	}
	return n == 1
}

// fftJobs are sizes that are powers and products of small primes.
func fftJobs(long bool) []fftJob {
	var jobs []fftJob
	add := func(x, y, z int) {
		for _, wide := range []bool{false, true} {
			jobs = append(jobs, fftJob{false, wide, [3]int{x, y, z}})
			if x%2 == 0 {
				jobs = append(jobs, fftJob{true, wide, [3]int{x, y, z}})
			}
		}
	}
	one := []int{2, 7, 64, 240, 1024}
	if long {
		one = nil
		for n, last := 2, 0; n <= 4096; n++ {
			if smooth(n) && (n > last+last/8 || n&(n-1) == 0 || n == 13*13*13 || n == 3125) {
				one = append(one, n)
				last = n
			}
		}
		for _, s := range [][3]int{{2, 2, 1}, {64, 64, 1}, {30, 7, 1}, {512, 3, 1}, {2, 1024, 1}, {128, 96, 1}, {13, 11, 1},
			{256, 256, 1},
			{2, 2, 2}, {8, 8, 8}, {6, 10, 14}, {32, 16, 8}, {11, 13, 5}, {4, 128, 4}, {32, 32, 32}} {
			add(s[0], s[1], s[2])
		}
	}
	for _, n := range one {
		add(n, 1, 1)
	}
	if !long {
		add(16, 12, 1)
		add(8, 4, 6)
	}
	return jobs
}

// TestVkFFT compiles a host program for the library VkFFT, of Debian's package libvkfft-dev, which writes its shaders
// by itself, and compares its transforms with their definition.
func TestVkFFT(t *testing.T) {
	needsTool(t, "g++", "g++")
	for file, pkg := range map[string]string{"/usr/include/vkFFT.h": "libvkfft-dev",
		"/usr/include/glslang/Public/resource_limits_c.h": "glslang-dev"} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("%s is missing (Debian package %s)", file, pkg)
		}
	}
	program := filepath.Join(t.TempDir(), "fft")
	out, err := exec.Command("g++", "-std=c++20", "-O1", "-Wall", "-o", program, "clients/vkfft/fft.cc", "-lglslang",
		"-lMachineIndependent", "-lOSDependent",
		"-lGenericCodeGen", "-lOGLCompiler", "-lSPIRV", "-lglslang-default-resource-limits", "-lSPIRV-Tools-opt",
		"-lSPIRV-Tools", "-lvulkan", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("g++ (Debian packages glslang-dev, spirv-tools, libvkfft-dev, libvulkan-dev): %v\n%s", err, out)
	}
	for driver := range strings.SplitSeq(*drivers, ",") {
		t.Run(driver, func(t *testing.T) {
			if _, err := os.Stat(manifestOf(driver)); err != nil {
				t.Skipf("%s is missing (Debian package mesa-vulkan-drivers)", manifestOf(driver))
			}
			runVkFFT(t, driver, program, fftJobs(*longVkFFT))
		})
	}
}

func runVkFFT(t *testing.T, driver, program string, jobs []fftJob) {
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = vulkan.DriverEnv(manifestOf(driver))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(pipe)
	for _, j := range jobs {
		rng := rand.New(rand.NewPCG(uint64(j.size[0]), uint64(j.size[1])))
		grid := newFFTGrid(j)
		for i := range grid.values {
			grid.values[i] = complex(rng.Float64()*2-1, rng.Float64()*2-1)
			if j.real {
				grid.values[i] = complex(real(grid.values[i]), 0)
			}
		}
		grid.round(j.wide)
		if _, err := fmt.Fprintln(in, j); err != nil {
			t.Fatalf("%s: %v", j, err)
		}
		if _, err := in.Write(grid.encode(j)); err != nil {
			t.Fatalf("%s: %v", j, err)
		}
		spectrum, back := make([]byte, len(grid.encode(j))), make([]byte, len(grid.encode(j)))
		for _, b := range [][]byte{spectrum, back} {
			if _, err := io.ReadFull(answers, b); err != nil {
				t.Fatalf("%s: %v: %v", j, err, cmd.Wait())
			}
		}
		original := grid.encode(j)
		grid.transform()
		compareSpectrum(t, j, spectrum, grid)
		compareBack(t, j, back, original)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program's end: %v", err)
	}
}

// fftGrid is numbers in three dimensions, the first of which is contiguous.
type fftGrid struct {
	size   [3]int
	values []complex128
}

func newFFTGrid(j fftJob) *fftGrid {
	return &fftGrid{j.size, make([]complex128, j.size[0]*j.size[1]*j.size[2])}
}

func (g *fftGrid) round(wide bool) {
	if wide {
		return
	}
	for i, v := range g.values {
		g.values[i] = complex(float64(float32(real(v))), float64(float32(imag(v))))
	}
}

// transform is the definition, dimension by dimension.
func (g *fftGrid) transform() {
	stride := 1
	for _, n := range g.size {
		roots := make([]complex128, n)
		for i := range roots {
			roots[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/float64(n))
		}
		line := make([]complex128, n)
		for first := range g.values {
			if first/stride%n != 0 {
				continue
			}
			for i := range line {
				line[i] = g.values[first+i*stride]
			}
			for k := range line {
				var s complex128
				at := 0
				for _, v := range line {
					s += v * roots[at]
					if at += k; at >= n {
						at -= n
					}
				}
				g.values[first+k*stride] = s
			}
		}
		stride *= n
	}
}

// encode lays the numbers out as VkFFT has them: real ones with room behind each row.
func (g *fftGrid) encode(j fftJob) []byte {
	var b []byte
	put := func(x float64) {
		if j.wide {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		}
	}
	for i, v := range g.values {
		put(real(v))
		if !j.real {
			put(imag(v))
		} else if i%g.size[0] == g.size[0]-1 {
			for range 2 - g.size[0]%2 {
				put(0)
			}
		}
	}
	return b
}

func decodeFloats(j fftJob, b []byte) []float64 {
	var f []float64
	for len(b) > 0 {
		if j.wide {
			f, b = append(f, math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:]
		} else {
			f, b = append(f, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))), b[4:]
		}
	}
	return f
}

// allowed is the error that a transform of n numbers may have, relative to the spectrum's size.
func (j fftJob) allowed() float64 {
	n := float64(j.size[0] * j.size[1] * j.size[2])
	if j.wide {
		return 1e-14 * (4 + math.Log2(n))
	}
	return 1e-6 * (4 + math.Log2(n))
}

func compareSpectrum(t *testing.T, j fftJob, got []byte, want *fftGrid) {
	t.Helper()
	row := want.size[0]
	if j.real {
		row = row/2 + 1
	}
	var largest, worst float64
	for _, v := range want.values {
		largest = math.Max(largest, cmplx.Abs(v))
	}
	f := decodeFloats(j, got)
	for i := 0; i < len(f)/2; i++ {
		w := want.values[i/row*want.size[0]+i%row]
		worst = math.Max(worst, cmplx.Abs(complex(f[2*i], f[2*i+1])-w))
	}
	if e := worst / largest; !(e <= j.allowed()) {
		t.Errorf("%s: the spectrum has an error of %.3g, %.3g are allowed", j, e, j.allowed())
	}
}

// compareBack compares what came back with what was sent, but for what lies behind rows of real numbers.
func compareBack(t *testing.T, j fftJob, got, sent []byte) {
	t.Helper()
	f, g := decodeFloats(j, got), decodeFloats(j, sent)
	var worst float64
	for i := range f {
		if row := j.size[0]/2*2 + 2; j.real && i%row >= j.size[0] {
			continue
		}
		worst = math.Max(worst, math.Abs(f[i]-g[i]))
	}
	if !(worst <= 4*j.allowed()) {
		t.Errorf("%s: there and back have an error of %.3g, %.3g are allowed", j, worst, 4*j.allowed())
	}
}
