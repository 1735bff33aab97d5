package draw

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"farside/compute"
	"farside/conformance/shaders"
	"farside/internal/sampling"
	"farside/internal/vk"
	"farside/spirv"
)

// fuzzShaders are a vertex shader and fragment shaders, of which each has other things to be broken.
var fuzzShaders = map[string]string{
	"a.vert": `layout(location = 0) in vec4 at; layout(location = 1) in vec4 a;
	layout(location = 0) out vec4 v; layout(location = 1) flat out ivec3 n; layout(location = 2) out vec2 list[3];
	layout(binding = 0) buffer B { uint data[64]; };
	out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; };
	void main() {
		gl_Position = at;
		gl_PointSize = a.x * 9;
		gl_ClipDistance[0] = a.y + 0.9;
		gl_ClipDistance[gl_VertexIndex & 1] = 1;
		for (int i = 0; i < 3; i++) list[i] = a.xy * i;
		v = a;
		n = ivec3(gl_VertexIndex, gl_InstanceIndex, data[gl_VertexIndex & 63]);
	}`,
	"plain.frag": `layout(location = 0) in vec4 v; layout(location = 0) out vec4 c;
	void main() { c = v + gl_FragCoord * dFdx(v.x); }`,
	"interpolate.frag": `layout(location = 0) in vec4 v; layout(location = 1) flat in ivec3 n;
	layout(location = 2) in vec2 list[3]; layout(location = 0) out vec4 c;
	void main() {
		c = interpolateAtSample(v, n.x) + vec4(interpolateAtOffset(list[n.y % 3], v.xy), interpolateAtCentroid(v.zw));
	}`,
	"loop.frag": `layout(location = 0) in vec4 v; layout(location = 1) flat in ivec3 n;
	layout(location = 0) out vec4 c; layout(location = 1) out uvec2 d; layout(binding = 0) buffer B { uint data[64]; };
	void main() {
		float sum = 0;
		for (int i = 0; i < n.x + 3; i++) {
			if (fwidth(v.y) * i > 2) discard;
			sum += v[i & 3];
			atomicAdd(data[i & 63], 1u);
		}
		switch (n.z & 3) { case 0: sum *= 2; case 1: sum += 1; break; default: gl_FragDepth = sum; }
		c = vec4(sum);
		d = uvec2(data[n.x & 63], gl_SampleMaskIn[0]);
		gl_FragDepth = v.w;
		gl_SampleMask[0] = n.x + 1;
	}`,
	"sample.frag": `layout(location = 0) sample in vec4 v; layout(location = 2) centroid in vec2 list[3];
	layout(location = 0, index = 0) out vec4 c; layout(location = 0, index = 1) out vec4 d;
	in float gl_ClipDistance[2];
	void main() {
		c = v * gl_SamplePosition.x + gl_ClipDistance[gl_SampleID & 1];
		d = vec4(list[gl_PrimitiveID & 1], gl_PointCoord) * (gl_FrontFacing ? 1 : 2);
	}`,
}

// stageModules compiles fuzzShaders.
func stageModules(t testing.TB) (vertex []uint32, fragments [][]uint32) {
	t.Helper()
	for name, text := range fuzzShaders {
		words, err := shaders.Source{Name: name, Text: "#version 450\n" + text, Target: "vulkan1.1", Invalid: true}.Compile()
		if errors.Is(err, shaders.ErrTool) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".vert") {
			vertex = words
		} else {
			fragments = append(fragments, words)
		}
	}
	return vertex, fragments
}

// fuzzBindings are a buffer wherever a shader looks for one.
type fuzzBindings struct{ data [256]byte }

func (b *fuzzBindings) Memory(_, _, _ uint32) compute.Memory     { return memoryOf(b.data[:]) }
func (b *fuzzBindings) Image(_, _, _ uint32) *sampling.View      { return nil }
func (b *fuzzBindings) Sampler(_, _, _ uint32) *sampling.Sampler { return nil }
func (b *fuzzBindings) Physical(uint64) (m compute.Memory, start uint64, found bool) {
	return m, 0, false
}

// mutated changes words of instructions.
func mutated(random *rand.Rand, words []uint32) []uint32 {
	words = append([]uint32(nil), words...)
	var starts []int
	for at := 5; at < len(words) && words[at]>>16 != 0; at += int(words[at] >> 16) {
		starts = append(starts, at)
	}
	for range random.IntN(4) {
		at := starts[random.IntN(len(starts))]
		n := min(int(words[at]>>16), len(words)-at)
		if n < 2 {
			continue
		}
		operand := at + 1 + random.IntN(n-1)
		switch random.IntN(5) {
		case 0:
			words[operand]++
		case 1:
			words[operand] ^= 1 << random.IntN(32)
		case 2:
			words[operand] = random.Uint32N(words[3])
		case 3:
			words[operand] = words[min(starts[random.IntN(len(starts))]+1, len(words)-1)]
		case 4:
			words[at] = words[at]&0xffff0000 | words[starts[random.IntN(len(starts))]]&0xffff
		}
	}
	return words
}

// permissive is an environment in which stages may have all that the shaders above do.
func permissive() *spirv.Environment {
	env := &spirv.Environment{Version: 0x10600, Capabilities: map[spirv.Capability]bool{},
		Extensions: map[string]bool{}, MaxVertexInputs: 16, MaxVertexOutputs: 16, MaxFragmentInputs: 16,
		MaxFragmentOutputs: 8}
	for _, c := range []spirv.Capability{spirv.CapabilityMatrix, spirv.CapabilityShader, spirv.CapabilityClipDistance,
		spirv.CapabilityCullDistance, spirv.CapabilitySampleRateShading, spirv.CapabilityInterpolationFunction,
		spirv.CapabilityDerivativeControl, spirv.CapabilityGeometry} {
		env.Capabilities[c] = true
	}
	return env
}

// compiled is the shader of a module, nil where it is refused.
func compiled(t testing.TB, words []uint32, stage compute.Stage) *compute.Program {
	t.Helper()
	env := permissive()
	m, err := spirv.Decode(words)
	if err != nil || m.Check(env) != nil {
		return nil
	}
	c, err := m.Constants(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.EntryPoints) != 1 || m.CheckEntryPoint(m.EntryPoints[0], c, env) != nil {
		return nil
	}
	model := map[compute.Stage]spirv.ExecutionModel{compute.StageVertex: spirv.ExecutionModelVertex,
		compute.StageFragment: spirv.ExecutionModelFragment}[stage]
	if m.EntryPoints[0].Model != model {
		return nil
	}
	start := time.Now()
	p, err := compute.Compile(m, m.EntryPoints[0].Name, compute.Options{Stage: stage, SubgroupSize: 8})
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "compiling"):
		t.Fatal(err)
	case err != nil:
		return nil
	case time.Since(start) > 20*time.Second:
		t.Fatal("the compilation takes too long")
	}
	return p
}

// drawMutated draws with what a seed makes of the modules. It says whether they were compiled.
func drawMutated(t testing.TB, vertex []uint32, fragments [][]uint32, seed uint64) bool {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 9))
	fragment := fragments[random.IntN(len(fragments))]
	if random.IntN(3) == 0 {
		vertex = mutated(random, vertex)
	} else {
		fragment = mutated(random, fragment)
	}
	v := compiled(t, vertex, compute.StageVertex)
	f := compiled(t, fragment, compute.StageFragment)
	if v == nil || f == nil {
		return false
	}
	samples := []uint32{1, 4}[random.IntN(2)]
	s := newScene(t, vk.FORMAT_R32G32B32A32_SFLOAT, 8, 8, samples, 4)
	s.state.Vertex, s.state.Fragment = v, f
	s.state.Topology = []vk.PrimitiveTopology{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, vk.PRIMITIVE_TOPOLOGY_POINT_LIST,
		vk.PRIMITIVE_TOPOLOGY_LINE_STRIP}[random.IntN(3)]
	start := time.Now()
	stop := func(uint64) bool { return time.Since(start) > 50*time.Millisecond }
	s.Vertex.Bindings, s.Fragment.Bindings = new(fuzzBindings), new(fuzzBindings)
	s.Vertex.Stop, s.Fragment.Stop = stop, stop
	var data []float32
	for range 5 * 8 {
		data = append(data, float32(random.NormFloat64()))
	}
	s.vertices(data...)
	if err := s.Execute(); err != nil && !errors.Is(err, compute.ErrStopped) {
		t.Errorf("seed %d: %v", seed, err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("seed %d: stopping takes %v", seed, took)
	}
	s.check()
	return true
}

// TestMutatedStages draws with some mutated shaders, of which many must be compiled.
func TestMutatedStages(t *testing.T) {
	vertex, fragments := stageModules(t)
	drawn := 0
	for seed := range uint64(60) {
		if drawMutated(t, vertex, fragments, seed) {
			drawn++
		}
	}
	if drawn < 12 {
		t.Errorf("only %d of 60 were compiled", drawn)
	}
}

// FuzzStages compiles or refuses mutated vertex and fragment shaders, and draws with them: no crash, and no more time
// than Stop gives.
func FuzzStages(f *testing.F) {
	vertex, fragments := stageModules(f)
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { drawMutated(t, vertex, fragments, seed) })
}
