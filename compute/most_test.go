package compute

import (
	"fmt"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
)

// TestMost shows what is known of the largest offset of a load, and that a product below it doesn't saturate.
func TestMost(t *testing.T) {
	for _, c := range []struct {
		index string
		want  uint32
	}{
		{"v & 255u", 1020}, {"v", 0}, {"v % 10u", 36}, {"min(v, 7u)", 28}, {"(v & 15u) + (n & 3u)", 72}, {"v >> 24", 1020},
		{"(v >> 28) * 16u + (v & 15u)", 1020}, {"v >> 2", 0xfffffffc},
	} {
		p := compileWords(t, glslWords(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { uint y[]; };
layout(set=0,binding=1) buffer In { uint x[]; };
shared uint t[256];
layout(push_constant) uniform Push { uint n; };
void main() {
	uint i = gl_LocalInvocationID.x;
	t[i] = i * i;
	barrier();
	uint v = x[i];
	y[i] = t[%s];
}`, c.index)), Options{})
		for i := range p.Insts {
			in := &p.Insts[i]
			if in.Code == program.Access && in.Op == kernel.Load32 && p.Slots[in.Index].Kind == program.SlotShared &&
				in.Most != c.want {
				t.Errorf("%s: at most %d, not %d\n%s", c.index, in.Most, c.want, p)
			}
		}
	}
}
