package compute

import (
	"fmt"
	"testing"

	"farside/compute/internal/kernel"
)

// TestQuiet shows of which minima the operands are known to be no signalling NaNs.
func TestQuiet(t *testing.T) {
	for body, want := range map[string]bool{
		"min(f[i] * 2.0, f[i + 1] + 1.0)": true, "min(f[i] * 2.0, f[i + 1])": false, "min(f[i], 1.0)": false,
		"min(abs(f[i] - 1.0), float(i))": true, "min(max(f[i] / 3.0, 1.0), -sqrt(f[i + 1]))": true,
		"min(i > 3u ? f[i] * 2.0 : 1.0, f[i + 1] * 3.0)": true, "min(uintBitsToFloat(i * 2u), 1.0)": false,
	} {
		p := compileWords(t, glslWords(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { float y[]; };
layout(set=0,binding=1) buffer In { float f[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	y[i] = %s;
}`, body)), Options{})
		found := false
		for i := range p.Insts {
			if in := &p.Insts[i]; in.Op == kernel.MinF32 {
				found = true
				if in.Quiet != want {
					t.Errorf("%s: %v\n%s", body, in.Quiet, p)
				}
			}
		}
		if !found {
			t.Errorf("%s: no minimum\n%s", body, p)
		}
	}
}
