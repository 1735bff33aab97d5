package compute

import (
	"fmt"
	"testing"

	"farside/compute/internal/kernel"
)

// TestFinite: a product with 0 is 0, and needs no other operand, where nothing in the shader asks for infinite numbers
// or for what is none.
func TestFinite(t *testing.T) {
	for _, c := range []struct {
		body           string
		products, sums int
	}{
		{body: "y[i] = f[i] * 0.0;"},
		{body: "y[i] = -0.0 * f[i] + 3.0;"},
		{body: "y[i] = f[i] * 1.0;"},
		{body: "y[i] = f[i] + 0.0;", sums: 1}, // the sign of a 0
		{body: "y[i] = f[i] * 2.0;", products: 1},
		{body: "y[i] = f[i] + 1.0;", sums: 1},
		{body: "y[i] = float(double(f[i]) * 0.0LF);"},
		{body: "precise float x = f[i] * 0.0; y[i] = x;", products: 1},
		{body: "y[i] = isnan(f[i] * 0.0) ? 1.0 : 2.0;", products: 1},
		{body: "float x = f[i] * 0.0; y[i] = x != x ? 1.0 : 2.0;", products: 1},
		{body: "y[i] = isinf(f[i + 1]) ? 1.0 : f[i] + 0.0;", sums: 1},
	} {
		p := compileWords(t, glslWords(t, fmt.Sprintf(`#version 450
layout(local_size_x = 64) in;
layout(set=0,binding=0) buffer Out { float y[]; };
layout(set=0,binding=1) buffer In { float f[]; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	%s
}`, c.body)), Options{})
		products, sums := 0, 0
		for i := range p.Insts {
			switch p.Insts[i].Op {
			case kernel.MulF32, kernel.MulF64, kernel.MulAddF32:
				products++
			case kernel.AddF32, kernel.AddF64:
				sums++
			}
		}
		if products != c.products || sums != c.sums {
			t.Errorf("%s: %d products and %d sums, want %d and %d\n%s", c.body, products, sums, c.products, c.sums, p)
		}
	}
}
