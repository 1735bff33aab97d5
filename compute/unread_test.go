package compute

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// unreadShader has an input for each component of two colours, one more for a branch, and effects of all kinds.
const unreadShader = `#version 450
#extension GL_EXT_demote_to_helper_invocation : enable
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 2) in float limit;
layout(location = 3) in float end;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(binding = 0) buffer B { float kept[]; };
void main() {
	first = a * a + 1;
	second.xyz = b.xyz;
	second.w = limit > 0 ? sqrt(b.w) : b.w * 3;
	if (gl_FragCoord.x < 2)
		kept[int(gl_FragCoord.x)] = b.z;
	if (end > 20)
		demote;
	gl_FragDepth = a.x;
}`

// TestUnread leaves outputs out: inputs that only they need aren't read, and all else has the same bits.
func TestUnread(t *testing.T) {
	eachWay(t, "frag", unreadShader, func(t *testing.T, p *Program) {
		location := func(v Variable) uint32 { return v.Location<<4 | v.Component }
		run := func(without ...uint32) (b *batchOf, kept []uint32, lanes []uint8) {
			t.Helper()
			var unread uint64
			for i, v := range p.Outputs() {
				if !v.IsBuiltIn && slices.Contains(without, location(v)) {
					unread |= 1 << i
				}
			}
			b = &batchOf{p.NewBatch(unread), t, p}
			for i, v := range p.Inputs() {
				words := b.Input(i)
				for lane := range words {
					words[lane] = bits32(float32(lane)/8 + float32(i))
					if v.IsBuiltIn && v.Component == 0 {
						words[lane] = bits32(float32(lane) + 0.5)
					}
				}
			}
			kept, lanes = make([]uint32, 2), b.all()
			v := environment()
			v.Bindings = &vmtest.Buffers{Words: [][]uint32{kept}}
			b.run(v, lanes, lanes)
			return b, kept, lanes
		}
		all, kept, lanes := run()
		for _, test := range []struct{ without, unused []uint32 }{
			{[]uint32{0x03}, []uint32{0x03}},
			{[]uint32{0x00}, nil}, // gl_FragDepth needs it
			{[]uint32{0x01, 0x02, 0x03}, []uint32{0x01, 0x02, 0x03}},
			{[]uint32{0x12}, nil}, // the buffer needs it
			{[]uint32{0x13}, []uint32{0x13, 0x20}},
			{[]uint32{0, 1, 2, 3, 0x10, 0x11, 0x12, 0x13}, []uint32{1, 2, 3, 0x10, 0x11, 0x13, 0x20}},
		} {
			b, keptNow, lanesNow := run(test.without...)
			if !slices.Equal(keptNow, kept) || !slices.Equal(lanesNow, lanes) {
				t.Errorf("without %x: stored %x and left lanes %x, want %x and %x", test.without, keptNow, lanesNow, kept, lanes)
			}
			for i, v := range p.Inputs() {
				if !v.IsBuiltIn && (b.Input(i) == nil) != slices.Contains(test.unused, location(v)) {
					t.Errorf("without %x: the input %x is read: %v", test.without, location(v), b.Input(i) != nil)
				}
			}
			for i, v := range p.Outputs() {
				if !v.IsBuiltIn && slices.Contains(test.without, location(v)) {
					if b.Output(i) != nil {
						t.Errorf("without %x: the output %x is there", test.without, location(v))
					}
				} else if !slices.Equal(b.Output(i), all.Output(i)) {
					t.Errorf("without %x: the output %+v differs", test.without, v)
				}
			}
		}
	})
}

// TestUnreadVariants has many goroutines ask for more variants than there may be.
func TestUnreadVariants(t *testing.T) {
	m, err := spirv.Decode(stageWords(t, "frag", unreadShader))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(m, "main", Options{Stage: StageFragment, SubgroupSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for unread := range uint64(3 * mostVariants) {
				b := p.NewBatch(unread << 1)
				if err := b.Begin(environment()); err != nil {
					t.Error(err)
					return
				}
				if err := b.End(); err != nil {
					t.Error(err)
				}
				b.Release()
			}
		})
	}
	wg.Wait()
	if len(p.variants) != mostVariants {
		t.Errorf("%d variants, want %d", len(p.variants), mostVariants)
	}
}

// TestOutputsAreNoEffects has helper lanes run as all others do, in a shader whose lanes can't tell.
func TestOutputsAreNoEffects(t *testing.T) {
	for line, masked := range map[string]bool{"": false, "kept[0] = 1;": true} {
		m, err := spirv.Decode(stageWords(t, "frag", `#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 color;
layout(binding = 0) buffer B { float kept[]; };
void main() { color = fwidth(a); `+line+` }`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(m, "main", Options{Stage: StageFragment, SubgroupSize: 8, NoNative: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.LayOut(); err != nil {
			t.Fatal(err)
		}
		plan, err := p.engine.Plan(&p.Program)
		if err != nil || strings.Contains(plan, "effect") != masked {
			t.Errorf("with %q: %v\n%s", line, err, plan)
		}
		b := &batchOf{p.NewBatch(0), t, p}
		b.fill(Variable{}, func(lane int) uint32 { return bits32(float32(lane)) })
		lanes, effects := b.all(), make([]uint8, b.Lanes()/8)
		v := environment()
		v.Bindings = &vmtest.Buffers{Words: [][]uint32{make([]uint32, 1)}}
		b.run(v, lanes, effects)
		if !slices.Equal(lanes, b.all()) {
			t.Errorf("with %q: lanes %x are left of helpers, want all", line, lanes)
		}
		if got := b.output(Variable{})[5]; got != bits32(3) {
			t.Errorf("with %q: %x of a helper, want 3", line, got)
		}
	}
}
