package vm

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"farside/compute/internal/backend"
	"farside/compute/internal/budget"
	"farside/compute/internal/frontend"
	"farside/compute/internal/vmtest"
	"farside/conformance/shaders"
	"farside/spirv"
)

// divergent stores and counts in all kinds of control flow. What a lane stores depends on no other lane, and its words
// are its own.
const divergent = `#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer In { uint a[]; };
layout(set = 0, binding = 2) buffer Counts { uint counts[]; };
void main() {
	uint i = gl_LocalInvocationID.x, r = 0, t[5];
	for (uint n = 0; n < 5; n++) t[n] = n * i;
	for (uint n = 0; n <= i % 7; n++) {
		r += a[(i + n) % 64];
		if (r % 3 == 0) continue;
		t[r % 5] += n;
		switch (r % 4) {
		case 0: result[i] = r; break;
		case 1: r ^= t[i % 5]; result[64 + i] = r;
		default: if (i % 5 == 4) COUNT(1, 1);
		}
		while (r % 11 > 4) { r += 3; result[128 + i] += r; if (r > 1000000) return; }
	}
	if (i < 40) { result[192 + i] = t[3] * r; COUNT(0, i); }
	result[256 + i] = r;
}
`

// compiled is the machine of a shader.
func compiled(t testing.TB, source string, defines ...string) *machine {
	t.Helper()
	words, err := shaders.Source{Name: "shader.comp", Text: source, Defines: defines, Target: "vulkan1.3",
		Invalid: true}.Compile()
	if errors.Is(err, shaders.ErrTool) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	m, err := spirv.Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	var used budget.Budget
	s, _, err := frontend.Lower(m, "main", &frontend.Options{Model: spirv.ExecutionModelGLCompute,
		SubgroupSize: 32}, &used)
	if err != nil {
		t.Fatal(err)
	}
	p, draft := backend.NewDraft(s, nil)
	s.Graph.Release()
	if err := draft.LayOut(p, &used, 0); err != nil {
		t.Fatal(err)
	}
	return &machine{Program: p}
}

const divergentLanes = 64

// divergentWords is memory for the shader.
func divergentWords() [][]uint32 {
	in := make([]uint32, divergentLanes)
	for i := range in {
		in[i] = uint32(i*i*7919 + 31*i)
	}
	return [][]uint32{make([]uint32, 5*divergentLanes), in, make([]uint32, 2)}
}

// TestCompiledShaderWithoutEffects: of a compiled shader lanes with effects do to memory what they do alone, and the
// others nothing, whichever lanes run beside them.
func TestCompiledShaderWithoutEffects(t *testing.T) {
	t.Run("counting", func(t *testing.T) { // additions that wait keep stores out of machine code
		compareEffects(t, compiled(t, divergent, "COUNT(at,by)=atomicAdd(counts[at],by)"), true)
	})
	t.Run("storing", func(t *testing.T) {
		compareEffects(t, compiled(t, divergent, "COUNT(at,by)=r+=by"), false)
	})
}

func compareEffects(t *testing.T, m *machine, counts bool) {
	t.Helper()
	// What each lane does alone. A dispatch does all of it.
	var alone [divergentLanes][][]uint32
	together := func(effects []uint8) [][]uint32 {
		words := divergentWords()
		for lane := range alone {
			if effects[lane/8]>>(lane%8)&1 == 0 {
				continue
			}
			for k := range words[2] {
				words[2][k] += alone[lane][2][k]
			}
			for at := lane; at < len(words[0]); at += divergentLanes {
				words[0][at] = alone[lane][0][at]
			}
		}
		return words
	}
	for _, kernels := range []bool{true, false} {
		engine := Engine{NoNative: kernels, Partial: true}
		if err := engine.Prepare(m.Program); err != nil {
			t.Fatal(err)
		}
		if engine.usesNative() && slices.Contains(engine.storing, true) == counts {
			t.Errorf("that machine code stores is %v", !counts)
		}
		w := newWalker(&engine, m.Program)
		run := func(lanes, effects []uint8) [][]uint32 {
			words := divergentWords()
			r, d := &run{}, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: words})
			r.begin(&engine, m.Program, &d.Environment)
			r.Dispatch = d
			w.begin(r)
			w.setBatch(lanes, effects)
			w.beginGroup(&[3]uint32{})
			if !w.execute() {
				t.Fatal("the batch doesn't come to its end")
			}
			w.end()
			return words
		}
		for lane := range alone {
			var one [divergentLanes / 8]uint8
			one[lane/8] = 1 << (lane % 8)
			alone[lane] = run(one[:], one[:])
		}
		random := rand.New(rand.NewPCG(3, 4))
		for range 100 {
			var lanes, effects [divergentLanes / 8]uint8
			for i := range lanes {
				lanes[i] = uint8(random.Uint32() | random.Uint32())
				effects[i] = lanes[i] & uint8(random.Uint32())
			}
			got, want := run(lanes[:], effects[:]), together(effects[:])
			if !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
				t.Fatalf("kernels alone %v, lanes %08b, effects %08b: %v, not %v", kernels, lanes, effects, got, want)
			}
		}
	}
	got := divergentWords()
	runMachine(t, m, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: got}))
	want := together(slices.Repeat([]uint8{255}, divergentLanes/8))
	if !slices.EqualFunc(got, want, slices.Equal[[]uint32]) {
		t.Errorf("a dispatch gives %v, not %v", got, want)
	}
	if counts != (got[2][0] > 0 && got[2][1] > 0) {
		t.Errorf("the shader counts %v", got[2])
	}
}
