package compute

import (
	"math"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/spirv"
)

// ways are the ways to run a program.
var ways = map[string]Options{"go": {PlainGo: true, NoNative: true}, "kernels": {NoNative: true}, "native": {}}

// eachWay compiles a shader for each way to run it.
func eachWay(t *testing.T, stage, source string, run func(t *testing.T, p *Program)) {
	t.Helper()
	words := stageWords(t, stage, source)
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			o.Stage = StageVertex
			if stage == "frag" {
				o.Stage = StageFragment
			}
			o.SubgroupSize = 8
			o.Dump = func(string, string) {}
			m, err := spirv.Decode(words)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(m, "main", o)
			if err != nil {
				t.Fatal(err)
			}
			run(t, p)
		})
	}
}

// batchOf is a batch with names for what goes in and comes out.
type batchOf struct {
	Batch
	t *testing.T
	p *Program
}

func newBatchOf(t *testing.T, p *Program) *batchOf { return &batchOf{p.NewBatch(0), t, p} }

// find is the number of a variable.
func find(list []Variable, want Variable) int {
	for i, v := range list {
		if v.IsBuiltIn == want.IsBuiltIn && v.BuiltIn == want.BuiltIn && v.Location == want.Location &&
			v.Component == want.Component && v.Half == want.Half && v.Index == want.Index &&
			v.Place == want.Place {
			return i
		}
	}
	return -1
}

func (b *batchOf) fill(v Variable, value func(lane int) uint32) {
	b.t.Helper()
	i := find(b.p.Inputs(), v)
	if i < 0 {
		b.t.Fatalf("no input %+v of %+v", v, b.p.Inputs())
	}
	words := b.Input(i)
	if words == nil {
		b.t.Fatalf("input %+v is not read", v)
	}
	for lane := range words {
		words[lane] = value(lane)
	}
}

func (b *batchOf) output(v Variable) []uint32 {
	b.t.Helper()
	i := find(b.p.Outputs(), v)
	if i < 0 {
		b.t.Fatalf("no output %+v of %+v", v, b.p.Outputs())
	}
	return b.Output(i)
}

// run runs lanes, with effects.
func (b *batchOf) run(v *Environment, lanes, effects []uint8) {
	b.t.Helper()
	if err := b.Begin(v); err != nil {
		b.t.Fatal(err)
	}
	if !b.Run(lanes, effects) {
		b.t.Error("Run is false")
	}
	if err := b.End(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *batchOf) all() []uint8 {
	l := make([]uint8, b.Lanes()/8)
	for i := range l {
		l[i] = 0xff
	}
	return l
}

func bits32(f float32) uint32 { return math.Float32bits(f) }

func environment() *Environment { return &Environment{Bindings: &vmtest.Buffers{}} }

func TestVertexShader(t *testing.T) {
	eachWay(t, "vert", `#version 450
layout(location = 1) in vec3 a;
layout(location = 2) in ivec2 table[3];
layout(location = 7) in dvec2 d;
layout(location = 0) out vec4 color;
layout(location = 4, component = 1) out float values[3];
layout(location = 9) flat out dvec2 wide;
layout(push_constant) uniform Push { float scale; } push;
void main() {
	gl_Position = vec4(a * push.scale, 1);
	color.y = float(gl_VertexIndex + gl_InstanceIndex);
	values[gl_VertexIndex % 3] = float(table[gl_InstanceIndex % 3].y);
	wide = d * 2;
}`, func(t *testing.T, p *Program) {
		b := newBatchOf(t, p)
		for c := range uint32(3) {
			b.fill(Variable{Location: 1, Component: c}, func(lane int) uint32 { return bits32(float32(lane) + float32(c)) })
			b.fill(Variable{Location: 2 + c, Component: 1}, func(lane int) uint32 { return uint32(lane)*10 + c })
		}
		for c := range uint32(2) {
			for half := range uint32(2) {
				b.fill(Variable{Location: 7, Component: 2 * c, Half: uint8(half)}, func(lane int) uint32 {
					return uint32(math.Float64bits(float64(lane)+0.1*float64(c)) >> (32 * half))
				})
			}
		}
		b.fill(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInVertexIndex},
			func(lane int) uint32 { return uint32(lane + 5) })
		b.fill(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInInstanceIndex},
			func(lane int) uint32 { return uint32(lane / 2) })
		v := environment()
		v.PushConstants = []byte{0, 0, 0, 0x40}
		lanes := b.all()
		lanes[3] = 0x5a
		b.run(v, lanes, lanes)
		if find(p.Outputs(), Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInPointSize}) >= 0 {
			t.Error("PointSize is an output, though nothing writes it")
		}
		for lane := range b.Lanes() {
			if lanes[lane/8]>>(lane%8)&1 == 0 {
				continue
			}
			same := func(what string, got, want uint32) {
				if got != want {
					t.Errorf("lane %d: %s is %#x, want %#x", lane, what, got, want)
				}
			}
			for c := range uint32(3) {
				same("Position", b.output(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInPosition, Component: c})[lane],
					bits32(2*(float32(lane)+float32(c))))
			}
			same("color", b.output(Variable{Component: 1})[lane], bits32(float32(lane+5+lane/2)))
			same("values", b.output(Variable{Location: 4 + uint32(lane+5)%3, Component: 1})[lane],
				bits32(float32(lane*10+lane/2%3)))
			for half := range uint32(2) {
				same("wide", b.output(Variable{Location: 9, Component: 2, Half: uint8(half)})[lane],
					uint32(math.Float64bits(2*(float64(lane)+0.1))>>(32*half)))
			}
		}
	})
}

// TestStageModes finds out what a stage says of itself beside what it needs.
func TestStageModes(t *testing.T) {
	for _, test := range []struct {
		line                 string
		constants, subgroups bool
		sets                 uint32
	}{
		{"color = vec4(subgroupQuadSwapHorizontal(a))", false, false, 0},
		{"color = vec4(k * a)", true, false, 0},
		{"color = vec4(subgroupBroadcastFirst(a))", false, true, 0},
		{"color = subgroupElect() ? vec4(k) : vec4(0)", true, true, 0},
		{"color = vec4(subgroupBallot(a > 1).x)", false, true, 0},
		{"color = vec4(c)", false, false, 1 << 3},
		{"color = imageLoad(i, ivec2(0)) + imageLoad(many[int(a)], ivec2(0)) + c", false, false, 1<<3 | 1<<31 | 1},
	} {
		eachWay(t, "frag", `#version 450
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(location = 0) in float a;
layout(location = 0) out vec4 color;
layout(push_constant) uniform P { float k; };
layout(set = 3, binding = 1) uniform C { float c; };
layout(set = 31, binding = 0, r32f) readonly uniform image2D i;
layout(binding = 0, r32f) readonly uniform image2D many[4];
void main() { `+test.line+`; }`, func(t *testing.T, p *Program) {
			if m := p.Stage(); m.Constants != test.constants || m.Subgroups != test.subgroups || m.Sets != test.sets {
				t.Errorf("%s: modes %+v", test.line, m)
			}
		})
	}
}

func TestFragmentShader(t *testing.T) {
	eachWay(t, "frag", `#version 450
#extension GL_EXT_demote_to_helper_invocation : enable
layout(location = 0) in vec2 a;
layout(location = 0) out vec4 color;
layout(location = 1) out ivec2 ints;
layout(set = 0, binding = 0) buffer Out { uint counts[]; };
void main() {
	int x = int(gl_FragCoord.x);
	counts[x] = 7;
	if (x % 5 == 1) discard;
	if (x % 7 == 2) demote;
	color = vec4(dFdxFine(a.x), dFdyFine(a.y), dFdxCoarse(a.x), dFdyCoarse(a.y));
	ints = ivec2(helperInvocationEXT() ? 1 : 0, gl_FrontFacing ? 3 : 4);
	counts[256 + x] = 9;
	gl_FragDepth = 0.5;
}`, func(t *testing.T, p *Program) {
		if m := p.Stage(); !m.Discards || !m.Derivatives || !m.Effects || !m.DepthReplacing || m.PerSample {
			t.Errorf("modes %+v", m)
		}
		b := newBatchOf(t, p)
		value := func(lane int) float32 { return float32(lane*lane%97) * 0.5 }
		for c := range uint32(2) {
			b.fill(Variable{Component: c}, func(lane int) uint32 { return bits32(value(lane) + float32(c)) })
		}
		b.fill(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInFragCoord}, func(lane int) uint32 {
			return bits32(float32(lane) + 0.5)
		})
		b.fill(Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInFrontFacing},
			func(lane int) uint32 { return uint32(lane & 1) })
		v := environment()
		counts := make([]uint32, 512)
		v.Bindings = vmtest.Buffers{Words: [][]uint32{counts}}
		lanes, effects := b.all(), b.all()
		effects[2] = 0x0f
		b.run(v, lanes, effects)
		ended := func(lane int) bool { return lane%5 == 1 }
		for lane := range b.Lanes() {
			had := lane/8 != 2 || lane%8 < 4
			acts := had && !ended(lane) && lane%7 != 2
			if got := effects[lane/8]>>(lane%8)&1 != 0; got != acts {
				t.Errorf("lane %d: effects %v, want %v", lane, got, acts)
			}
			if got, want := counts[256+lane] != 0, acts; got != want {
				t.Errorf("lane %d: late store %v, want %v", lane, got, want)
			}
			if got := counts[lane] != 0; got != had {
				t.Errorf("lane %d: early store %v, want %v", lane, got, had)
			}
			quad := lane &^ 3
			if !acts || ended(quad) || ended(quad+1) || ended(quad+2) || ended(quad+3) {
				continue
			}
			row, column := lane&^1, lane&^2
			for c, want := range []float32{value(row+1) - value(row), value(column+2) - value(column),
				value(quad+1) - value(quad), value(quad+2) - value(quad)} {
				if got := b.output(Variable{Component: uint32(c)})[lane]; got != bits32(want) {
					t.Errorf("lane %d: derivative %d is %v, want %v", lane, c, math.Float32frombits(got), want)
				}
			}
			if got := b.output(Variable{Location: 1, Component: 1})[lane]; got != uint32(4-lane&1) {
				t.Errorf("lane %d: FrontFacing gives %d", lane, got)
			}
		}
	})
}
