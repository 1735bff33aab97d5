package compute

import (
	"slices"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
)

// TestSharedQuotients: where there is a quotient, the remainder is a difference, of which the bound is known.
func TestSharedQuotients(t *testing.T) {
	source := shader(64, "shared uint s[60];", `
	s[min(i, 59u)] = i * 3u;
	barrier();
	uint v = a[i], w = v ^ 0x80001234u;
	r = s[v % 60u] + v / 60u;                          // the remainder first
	r = r * 31u + w / 7u; r ^= w % 7u;
	r = r * 31u + uint(int(w) / 11);
	r ^= a[(v / 1000u) & 31u] + v % 1000u;             // a multiple of a chunk's lanes
	if ((v & 1u) == 0u)
		r += w % 13u;                                  // without a quotient`)
	p := compileWords(t, glslWords(t, source), Options{})
	var remainders []uint64
	for i := range p.Insts {
		in := &p.Insts[i]
		if in.Op == kernel.RemU32 {
			constant := slices.IndexFunc(p.Constants, func(c program.Constant) bool { return c.Register == in.B })
			remainders = append(remainders, p.Constants[constant].Bits)
		}
		if in.Code == program.Access && in.Op == kernel.Load32 && p.Slots[in.Index].Kind == program.SlotShared &&
			in.Most != 4*59 {
			t.Errorf("the bound of a remainder is %d", in.Most)
		}
	}
	if !slices.Equal(remainders, []uint64{1000, 13}) {
		t.Errorf("remainders by %d\n%s", remainders, p)
	}
	var results [2][]uint32
	for k := range results {
		p := compileWords(t, glslWords(t, source), Options{PlainGo: k == 1})
		in := make([]uint32, 64)
		for i := range in {
			in[i] = testInput(i) * 2654435761
		}
		results[k] = make([]uint32, 64)
		mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{results[k], in}}))
		for i, v := range in {
			w := v ^ 0x80001234
			r := v%60*3 + v/60
			r = r*31 + w/7
			r ^= w % 7
			r = r*31 + uint32(int32(w)/11)
			r ^= in[v/1000&31] + v%1000
			if v&1 == 0 {
				r += w % 13
			}
			if v%60 == 59 {
				continue // which lane writes it is not said
			}
			if results[k][i] != r {
				t.Fatalf("%#x of %#x, not %#x", results[k][i], v, r)
			}
		}
	}
}
