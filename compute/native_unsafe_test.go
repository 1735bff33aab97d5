package compute

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/program"
	"farside/compute/internal/vm"
	"farside/compute/internal/vmtest"
	"farside/internal/sampling"
)

// TestPatterns shows what is known of the offsets of accesses.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		size string
		body string
		want []string // the patterns, with the words from a lane to the next
	}{
		{"64", "y[gl_GlobalInvocationID.x] = x[gl_LocalInvocationID.x + 3u];",
			[]string{"linear 1", "linear 1"}},
		// one load for all
		{"64", "y[gl_LocalInvocationIndex] = x[gl_WorkGroupID.x];", []string{"any", "linear 1"}},
		{"16, local_size_y = 4", "y[gl_LocalInvocationID.y * 16u + gl_LocalInvocationID.x] = x[gl_LocalInvocationID.y * n];",
			[]string{"any", "same", "consecutive 1"}},
		{"12, local_size_y = 4", "y[gl_LocalInvocationID.x] = x[gl_LocalInvocationID.y];",
			[]string{"any", "any"}},
		{"12", "y[gl_LocalInvocationID.x] = x[gl_LocalInvocationID.y];", []string{"any", "linear 1"}},
		{"64", "y[gl_LocalInvocationID.x * 2u] = x[gl_LocalInvocationID.x ^ 1u];", []string{"any", "linear 2"}},
		{"64", "y[(gl_LocalInvocationID.x * 4u - gl_LocalInvocationID.x * 3u)] = 1.0;", []string{"linear 1"}},
		{"64", "y[gl_LocalInvocationID.x * n] = 1.0;", []string{"any", "any"}},
		{"64", "y[gl_LocalInvocationID.x] = v2[gl_LocalInvocationID.x].y;", []string{"linear 2", "linear 1"}},
		{"64", "y[gl_LocalInvocationID.x] = v4[gl_LocalInvocationID.x + n].z;", []string{"any", "linear 4", "linear 1"}},
		{"16, local_size_y = 4", "v4[gl_LocalInvocationID.y * n + gl_LocalInvocationID.x].x = 1.0;",
			[]string{"any", "consecutive 4"}},
		{"64", "y[gl_LocalInvocationID.x * 3u] = x[gl_LocalInvocationID.x * 17u];", []string{"any", "linear 3"}},
		// parts of what counts lanes
		{"64", "y[gl_LocalInvocationIndex % 16u] = x[gl_LocalInvocationIndex / 16u * n];",
			[]string{"any", "same", "consecutive 1"}},
		{"64", "y[gl_GlobalInvocationID.x % 24u] = x[(gl_GlobalInvocationID.x + 8u) / 24u];",
			[]string{"same", "consecutive 1"}},
		{"64", "v4[gl_LocalInvocationIndex & 31u].x = v4[(gl_LocalInvocationIndex & 0xfff8u) + n].z;",
			[]string{"any", "same", "consecutive 4"}},
		{"64", "y[gl_LocalInvocationIndex & 3u] = x[gl_LocalInvocationIndex >> 2];", []string{"any", "any"}},
		{"64", "y[(gl_LocalInvocationIndex + n) & 31u] = x[(gl_LocalInvocationIndex + 4u) >> 3];",
			[]string{"any", "any", "any"}},
		{"64", "y[gl_LocalInvocationIndex & 12u] = x[gl_LocalInvocationIndex % 12u];", []string{"any", "any"}},
	} {
		source := fmt.Sprintf(`#version 450
layout(local_size_x = %s) in;
layout(set=0,binding=0) buffer Out { float y[]; };
layout(set=0,binding=1) buffer In { float x[]; };
layout(set=0,binding=2) buffer Twos { vec2 v2[]; };
layout(set=0,binding=3) buffer Fours { vec4 v4[]; };
layout(push_constant) uniform Push { uint n; };
void main() { %s }
`, c.size, c.body)
		p := compileWords(t, glslWords(t, source), Options{})
		var got []string
		for _, in := range p.Insts {
			if in.Code != program.Access {
				continue
			}
			pattern := [...]string{native.Any: "any", native.Same: "same", native.Consecutive: "consecutive",
				native.Linear: "linear"}[in.Pattern]
			if in.A.Uniform() {
				pattern = "any" // it says nothing there
			} else if in.Words > 0 {
				pattern += fmt.Sprint(" ", in.Words)
			}
			got = append(got, pattern)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v\n%s", c.body, got, c.want, p)
		}
	}
}

// large is bindings of memory of more than 2 GiB.
type large struct {
	vmtest.Buffers
	memory []byte
}

func (l large) Memory(set, binding, element uint32) Memory {
	return Memory{Base: unsafe.Pointer(&l.memory[0]), Size: uint64(len(l.memory))}
}

func (l large) Image(set, binding, element uint32) *sampling.View { return nil }

// TestLargeMemory shows that offsets of 2^31 and more are right, for which there is no machine code.
func TestLargeMemory(t *testing.T) {
	const size = 3 << 30
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	p := compileWords(t, glslWords(t, `#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	y[i + 0x28000000u] = y[i] + 1u;
	y[i + 0x2ffffff0u] = i;
}
`), Options{})
	words := unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), size/4)
	for i := range 256 {
		words[i] = uint32(100 + i)
	}
	mustRun(t, p, dispatch([3]uint32{4, 1, 1}, large{memory: memory}))
	for i := range uint32(256) {
		if got := words[i+0x28000000]; got != 101+i {
			t.Fatalf("word %d is %d", i, got)
		}
		if at := uint64(i) + 0x2ffffff0; at < size/4 && words[at] != i {
			t.Fatalf("word %d is %d", at, words[at])
		}
	}
	if words[0] != 100 {
		t.Error("what lies beyond the memory has been written at its start")
	}
}

// TestNativeRuns shows that the code of shaders is used where it can be.
func TestNativeRuns(t *testing.T) {
	if kernel.Best().Name != "avx2" {
		t.Skip("needs a processor with AVX2")
	}
	p := compileWords(t, glslWords(t, shader(64, "", "r = a[i] * 3u + 1u;")), Options{})
	plan := planOf(t, p)
	if !strings.Contains(plan, " native ") {
		t.Fatalf("no machine code\n%s", p)
	}
	if strings.Contains(plan, " kernel ") || strings.Contains(plan, " masked ") {
		t.Errorf("instructions are left to kernels:\n%s", plan)
	}
}

// TestRows shows that one call executes workgroups that follow each other along x, in rows of a dispatch of three
// dimensions with a base.
func TestRows(t *testing.T) {
	p := compileWords(t, glslWords(t, `#version 450
layout(local_size_x = 16) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(push_constant) uniform Push { uint width; };
void main() {
	uvec3 g = gl_WorkGroupID;
	y[g.z * width * 7u + g.y * width + gl_GlobalInvocationID.x] += g.x + 1000u * g.y + 1000000u * g.z + 7u;
}
`), Options{})
	groups, base := [3]uint32{150, 5, 2}, [3]uint32{3, 2, 1}
	width := 16 * (base[0] + groups[0])
	words := make([]uint32, width*7*3)
	mustRun(t, p, &vm.Dispatch{Groups: groups, Base: base,
		Environment: vm.Environment{Bindings: vmtest.Buffers{Words: [][]uint32{words}},
			PushConstants: binary.LittleEndian.AppendUint32(nil, width)}})
	if plan := planOf(t, p); strings.Contains(plan, "in rows") != (kernel.Best().Name == "avx2") {
		t.Errorf("workgroups in rows:\n%s\n%s", plan, p)
	}
	for i, got := range words {
		x, y, z := uint32(i)%width/16, uint32(i)/width%7, uint32(i)/width/7
		want := x + 1000*y + 1000000*z + 7
		if x < base[0] || y < base[1] || z < base[2] {
			want = 0
		}
		if got != want {
			t.Fatalf("workgroup %d,%d,%d wrote %d, not %d", x, y, z, got, want)
		}
	}
}

// TestStreams writes so much that it goes past the caches, at places that allow it and at others.
func TestStreams(t *testing.T) {
	const n = 8<<20 + 64
	in, out := make([]uint32, n), make([]uint32, n+1)
	for i := range in {
		in[i] = uint32(i) * 7
	}
	for skip := range uint32(2) {
		p := compileWords(t, glslWords(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(set=0,binding=1) buffer In { uint x[]; };
void main() { y[gl_GlobalInvocationID.x + %du] = x[gl_GlobalInvocationID.x] + 1u; }
`, skip)), Options{})
		clear(out)
		d := dispatch([3]uint32{n / 64, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}})
		mustRun(t, p, d)
		for i := range uint32(n) {
			if out[i+skip] != i*7+1 {
				t.Fatalf("%d words further on: word %d is %d", skip, i, out[i+skip])
			}
		}
	}
}
