package compute

import (
	"slices"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// TestRotate rotates the values of subgroups and of clusters: shuffles of GLSL become rotations, as compilers may not
// know these yet.
func TestRotate(t *testing.T) {
	words := glslWords(t, shader(64, "", `
	r = subgroupShuffle(i * 7u, a[0]) * 1000u + subgroupShuffle(i * 7u, a[1]) + 8u;`))
	var eight uint32
	rotated := slices.Clone(words[:5])
	clusters := 0
	for at := 5; at < len(words); at += int(words[at] >> 16) {
		in := words[at:][:words[at]>>16]
		switch spirv.Op(in[0] & 0xffff) {
		case spirv.OpConstant:
			if in[3] == 8 {
				eight = in[2]
			}
		case spirv.OpGroupNonUniformShuffle:
			in = append([]uint32{uint32(len(in))<<16 | uint32(spirv.OpGroupNonUniformRotateKHR)}, in[1:]...)
			if clusters++; clusters == 2 {
				in = append(in, eight)
				in[0] += 1 << 16
			}
		}
		rotated = append(rotated, in...)
	}
	if clusters != 2 || eight == 0 {
		t.Fatal("the shader has", clusters, "shuffles")
	}
	for _, size := range []int{4, 16, 32, 64} {
		for _, delta := range []uint32{0, 3, 31, 70, 1<<32 - 1} {
			in, out := make([]uint32, 64), make([]uint32, 64)
			in[0], in[1] = delta, delta+1
			p := compileWords(t, rotated, Options{SubgroupSize: uint32(size)})
			mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, in}}))
			for i, got := range out {
				from := func(cluster int, delta uint32) uint32 {
					cluster = min(cluster, size)
					return uint32(i/cluster*cluster + int(uint32(i)+delta)%cluster)
				}
				if want := from(size, in[0])*7000 + from(8, in[1])*7 + 8; got != want {
					t.Fatalf("subgroups of %d, by %d: lane %d has %d, not %d", size, delta, i, got, want)
				}
			}
		}
	}
}
