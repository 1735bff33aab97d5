package compute

import (
	"fmt"
	"testing"

	"farside/compute/internal/vmtest"
)

// BenchmarkStrides accesses buffers whose lanes lie some words apart: vectors, and structures of scalars.
func BenchmarkStrides(b *testing.B) {
	const n = 1 << 14 // elements, which stay in the caches
	for _, c := range []struct{ name, body string }{
		{"float", "y[i] = x[i] + 1.0;"},
		{"vec2", "y[i] = v2[i].x * v2[i].y;"},
		{"vec4", "y[i] = dot(v4[i], vec4(1, 2, 3, 4));"},
		{"float16", "y[i] = float(h[i]) + float(h[i + 8]);"},
		{"3 words", "y[i] = x[3 * i] + x[3 * i + 1] * x[3 * i + 2];"},
		{"to vec2", "v2[i] = vec2(1, x[i]);"},
		{"to vec4", "v4[i] = vec4(1, x[i], 2, 3);"},
	} {
		p := compileWords(b, glslWords(b, fmt.Sprintf(`#version 450
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 256) in;
layout(set=0,binding=0) buffer Out { float y[]; };
layout(set=0,binding=1) buffer In { float x[]; };
layout(set=0,binding=2) buffer Twos { vec2 v2[]; };
layout(set=0,binding=3) buffer Fours { vec4 v4[]; };
layout(set=0,binding=4) buffer Halves { float16_t h[]; };
void main() { uint i = gl_GlobalInvocationID.x; %s }
`, c.body)), Options{})
		d := dispatch([3]uint32{n / 256, 1, 1}, vmtest.Buffers{Words: [][]uint32{
			make([]uint32, n), make([]uint32, 4*n), make([]uint32, 2*n), make([]uint32, 4*n), make([]uint32, n)}})
		b.Run(c.name, func(b *testing.B) {
			start := processorTime(b)
			for b.Loop() {
				if err := p.Run(d); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(n)/float64(b.N), "cpu-ns/invocation")
		})
	}
}
