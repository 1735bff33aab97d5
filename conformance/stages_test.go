package conformance

import (
	"fmt"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// stageCases are about what vertex and fragment shaders see and say.
func stageCases() []definition {
	list := []definition{}
	for _, samples := range []uint32{1, 4} {
		add := func(name string, run func(c *Case, samples uint32)) {
			list = append(list, drawCase(fmt.Sprintf("pipeline.multisample_interpolation.%s.samples_%d", name, samples),
				func(c *Case) { run(c, samples) }, "SampleRateShading", "FragmentStoresAndAtomics"))
		}
		add("offset_interpolate_at", interpolateOffsetCase)
		add("sample_interpolate_at", interpolateSampleCase)
		add("centroid_interpolate_at", interpolateCentroidCase)
	}
	return list
}

// strip draws a triangle strip of four vertices.
func (s *scene) strip() func(cb vk.CommandBuffer) {
	return func(cb vk.CommandBuffer) { s.c.dev.CallOn("vkCmdDraw", uintptr(cb), 4, 1, 0, 0) }
}

// inPerspective covers the target with a square whose 1/w is 1 + u/4 + v/2 at (u, v) of the screen, where its outputs
// are (u, v) times w, and (u, v).
const inPerspective = `layout(location = 0) out vec2 a; layout(location = 1) noperspective out vec2 b;
	layout(location = 2) out Block { vec4 unused; float list[3]; layout(location = 6) noperspective mat2 m; } block;
	void main() {
		vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
		float w = 1 / (1 + p.x / 4 + p.y / 2);
		gl_Position = vec4((p * 2 - 1) * w, 0, w);
		a = p * w;
		b = p;
		block.unused = vec4(1);
		for (int i = 0; i < 3; i++) block.list[i] = p.x * w + i;
		block.m = mat2(p, p + 1);
	}`

// multisampled has a scene's pipeline draw with its number of samples, and the square's vertices.
func multisampled(samples uint32) func(g *vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
		g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(samples)
	}
}

// seen is the target with one sample that shows the first color.
func (s *scene) seen() *attachment {
	if s.resolve != nil {
		return s.resolve
	}
	return s.colors[0]
}

// interpolateOffsetCase evaluates at offsets that differ in each pixel.
func interpolateOffsetCase(c *Case, samples uint32) {
	const size = 32
	s := c.scene(size, size, samples, 1, 0, rgba32f)
	defer s.close()
	s.draw(&look{vertex: inPerspective, record: s.strip(), edit: multisampled(samples),
		fragment: `layout(location = 0) in vec2 a; layout(location = 1) noperspective in vec2 b;
		layout(location = 0) out vec4 c;
		void main() {
			vec2 o = vec2(ivec2(gl_FragCoord.xy) % 8) / 8 - 0.5;
			c = vec4(interpolateAtOffset(a, o), interpolateAtOffset(b, o));
		}`})
	s.pixels(s.seen(), 1e-5, func(x, y int) [4]float64 {
		u, v := (float64(x)+float64(x%8)/8)/size, (float64(y)+float64(y%8)/8)/size
		r := 1 + u/4 + v/2
		return [4]float64{u / r, v / r, u, v}
	})
}

// standardSamples are the places of the samples of a pixel, by their number.
var standardSamples = map[uint32][][2]float64{1: {{0.5, 0.5}},
	4: {{0.375, 0.125}, {0.875, 0.375}, {0.125, 0.625}, {0.625, 0.875}}}

// interpolateSampleCase evaluates vectors, elements, members and columns at samples that differ in each pixel, without
// running for each sample.
func interpolateSampleCase(c *Case, samples uint32) {
	const size = 32
	s := c.scene(size, size, samples, 1, 0, rgba32f)
	defer s.close()
	count := make([]uint32, 1)
	s.draw(&look{vertex: inPerspective, record: s.strip(), edit: multisampled(samples), buffers: []any{count},
		fragment: fmt.Sprintf(`layout(binding = 0) buffer N { uint n[1]; };
		layout(location = 0) in vec2 a; layout(location = 1) noperspective in vec2 b;
		layout(location = 2) in Block { vec4 unused; float list[3]; layout(location = 6) noperspective mat2 m; } block;
		layout(location = 0) out vec4 c;
		void main() {
			atomicAdd(n[0], 1);
			ivec2 p = ivec2(gl_FragCoord.xy);
			int i = (p.x + p.y) %% %d;
			c = vec4(interpolateAtSample(a, i).y, interpolateAtSample(b.x, i), interpolateAtSample(block.m[1], i).y,
				interpolateAtSample(block.list[(p.x * 5 + p.y) %% 3], i));
		}`, samples)})
	s.pixels(s.seen(), 1e-5, func(x, y int) [4]float64 {
		at := standardSamples[samples][(x+y)%int(samples)]
		u, v := (float64(x)+at[0])/size, (float64(y)+at[1])/size
		r := 1 + u/4 + v/2
		return [4]float64{v / r, u, v + 1, u/r + float64((x*5+y)%3)}
	})
	// Pixels on the diagonal may be shaded for both triangles.
	if count[0] < size*size || count[0] > size*(size+1) {
		c.Errorf("%d invocations", count[0])
	}
}

// interpolateCentroidCase draws small triangles, whose edges go through pixels: at centroids no weight of a vertex is
// negative. What has all of its samples is evaluated at its center. Vertices are moved by up to 1/512 of a pixel, to
// where 8 bits below the pixel have them, and places in a triangle by no more.
func interpolateCentroidCase(c *Case, samples uint32) {
	const size = 32
	s := c.scene(size, size, samples, 1, 0, rgba32f)
	defer s.close()
	counts := make([]uint32, 4)
	s.draw(&look{
		vertex: `layout(location = 0) out vec3 a; layout(location = 1) out vec2 at;
		void main() {
			int k = gl_VertexIndex % 3, n = gl_VertexIndex / 3;
			vec2 first = vec2(n % 4, n / 4) / 2 - 1;
			vec2 p = k == 0 ? vec2(0.03, 0.011) : k == 1 ? vec2(0.47, 0.053 * n) : vec2(0.029 * n, 0.49);
			gl_Position = vec4(first + p, 0, 1);
			at = (first + p + 1) * 16;
			a = vec3(k == 0, k == 1, k == 2);
		}`,
		fragment: `layout(binding = 0) buffer N { uint n[4]; };
		layout(location = 0) in vec3 a; layout(location = 1) in vec2 at;
		layout(location = 0) out vec4 c;
		void main() {
			vec3 w = interpolateAtCentroid(a);
			vec2 place = interpolateAtCentroid(at);
			bool all = gl_SampleMaskIn[0] == ` + fmt.Sprint(1<<samples-1) + `;
			atomicAdd(n[all ? 0 : 1], 1);
			if (any(lessThan(w, vec3(-1e-4)))) atomicAdd(n[2], 1);
			vec2 off = abs(place - gl_FragCoord.xy);
			if (max(off.x, off.y) > (all ? 0.0025 : 0.5025)) atomicAdd(n[3], 1);
			c = vec4(1);
		}`,
		edit: func(g *vulkan.GraphicsState) {
			g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(samples)
		}, buffers: []any{counts},
		record: func(cb vk.CommandBuffer) { c.dev.CallOn("vkCmdDraw", uintptr(cb), 48, 1, 0, 0) }})
	if counts[0] < 100 || samples > 1 && counts[1] < 100 || counts[2] != 0 || counts[3] != 0 {
		c.Errorf("%d whole pixels, %d others; %d outside of their triangle, %d outside of their pixel", counts[0], counts[1],
			counts[2], counts[3])
	}
}
