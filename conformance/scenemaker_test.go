package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/vk"
)

// sceneColors are formats of random scenes, with GLSL's prefix of their types.
var sceneColors = []struct {
	prefix string
	format vk.Format
}{
	{"", rgba8}, {"", rgba32f}, {"", vk.FORMAT_R16G16B16A16_SFLOAT}, {"", vk.FORMAT_A2B10G10R10_UNORM_PACK32},
	{"", vk.FORMAT_B8G8R8A8_SRGB}, {"u", vk.FORMAT_R32G32B32A32_UINT}, {"u", vk.FORMAT_R8G8B8A8_UINT},
	{"i", vk.FORMAT_R16G16_SINT},
}

var sceneDepths = []vk.Format{0, vk.FORMAT_D16_UNORM, vk.FORMAT_D32_SFLOAT, vk.FORMAT_D32_SFLOAT_S8_UINT,
	vk.FORMAT_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT}

// A sceneMaker makes scenes of random state, the same ones for a seed on all drivers. Plain ones have nothing
// but what the specification defines to the bit or nearly so.
type sceneMaker struct {
	*scene
	rng      *rand.Rand
	plain    bool
	whole    bool // no primitive is clipped but by the guard band
	samples  uint32
	prefixes []string
	viewMask uint32
	texture  described
}

// plainScene says which seeds make plain scenes.
func plainScene(seed uint64) bool { return seed%2 == 0 }

func (c *Case) makeScene(seed uint64) *sceneMaker {
	m := &sceneMaker{rng: rand.New(rand.NewPCG(seed, 4)), plain: plainScene(seed)}
	width, height := uint32(1+m.rng.IntN(260)), uint32(1+m.rng.IntN(200))
	m.samples = []uint32{1, 1, 4, 8}[m.rng.IntN(4)]
	if m.plain && m.samples == 8 {
		m.samples = 4
	}
	layers := uint32(1)
	if m.rng.IntN(5) == 0 && !m.plain { // lavapipe 22.3 leaves out views
		layers, m.viewMask = 3, uint32(1+m.rng.IntN(7))
	}
	m.whole = m.one(2)
	m.scene = c.scene(width, height, 1, 1, 0)
	n := []int{1, 1, 2, 3, 4}[m.rng.IntN(5)]
	for range n {
		k := sceneColors[m.rng.IntN(len(sceneColors))]
		t := m.target(k.format, vk.IMAGE_ASPECT_COLOR_BIT,
			vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT|vk.IMAGE_USAGE_SAMPLED_BIT, m.samples, layers)
		switch v := t.clear.Color(); k.prefix {
		case "":
			*v.Float32() = [4]float32{0.25, 0.5, float32(m.rng.IntN(5)) / 4, 0.75}
		default:
			*v.Uint32() = [4]uint32{1, 2, m.rng.Uint32N(100), 77}
		}
		m.colors, m.prefixes = append(m.colors, t), append(m.prefixes, k.prefix)
	}
	if f := sceneDepths[m.rng.IntN(len(sceneDepths))]; f != 0 {
		if f == vk.FORMAT_D24_UNORM_S8_UINT && m.plain {
			f = vk.FORMAT_D32_SFLOAT_S8_UINT
		}
		aspects := vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT)
		if f > vk.FORMAT_S8_UINT {
			aspects |= vk.IMAGE_ASPECT_STENCIL_BIT
		}
		if f == vk.FORMAT_S8_UINT {
			aspects = vk.IMAGE_ASPECT_STENCIL_BIT
		}
		m.depth = m.target(f, aspects, vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT|vk.IMAGE_USAGE_SAMPLED_BIT, m.samples,
			layers)
		*m.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: float32(m.rng.IntN(5)) / 4,
			Stencil: m.rng.Uint32N(256)}
	}
	t := c.texture(textureConfig{format: rgba8, view: vk.IMAGE_VIEW_TYPE_2D, extent: [3]uint32{32, 32, 1}, levels: 6,
		layers: 1, usage: vk.IMAGE_USAGE_SAMPLED_BIT, seed: seed})
	sampler, _, free := c.sampler(sampling.SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
		MipmapMode: vk.SAMPLER_MIPMAP_MODE_LINEAR, MinLod: float32(m.rng.IntN(3)), MaxLod: 5}, false)
	m.texture = t.descriptor(vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, sampler)
	m.free = append(m.free, free, t.free)
	return m
}

func (m *sceneMaker) one(n int) bool { return m.rng.IntN(n) == 0 }

func pick[T any](m *sceneMaker, from ...T) T { return from[m.rng.IntN(len(from))] }

// corners are the vertices of a draw: a position and two vectors of values each.
func (m *sceneMaker) corners(n int) []float32 {
	var out []float32
	const steps = 16
	w := float32(1)
	z := float32(m.rng.IntN(65)) / 64
	spread := float32(m.rng.IntN(3)+1) / 2
	x, y := m.rng.Float32()*2-1, m.rng.Float32()*2-1
	for i := range n {
		if i%3 == 0 {
			x, y, z = m.rng.Float32()*2-1, m.rng.Float32()*2-1, float32(m.rng.IntN(65))/64
			w = pick[float32](m, 1, 1, 0.5, 2)
		}
		if m.one(6) {
			z = float32(m.rng.IntN(81)-8) / 64
		}
		if m.one(8) {
			w = pick[float32](m, 1, 0.25, 4, 3)
		}
		if !m.plain && m.one(20) {
			w = pick[float32](m, -1, 0, 1e-30, 100)
		}
		if m.whole {
			z = min(max(z, 0.05), 0.8)
		}
		// Coordinates of a sixteenth of a pixel, in a viewport of the target's size.
		place := func(v float32, size uint32) float32 {
			v += spread * (m.rng.Float32()*2 - 1)
			return float32(int((v+1)/2*float32(size)*steps))/steps/float32(size)*2 - 1
		}
		out = append(out, place(x, m.width)*w, place(y, m.height)*w, z*w, w)
		for range 8 {
			out = append(out, float32(m.rng.IntN(65))/64)
		}
	}
	return out
}

// value is an expression of a float, of about 0 to 1.
func (m *sceneMaker) value(d *sceneDraw) string {
	c, kind := "xyzw"[m.rng.IntN(4)], m.rng.IntN(14)
	if m.plain && (kind == 8 || kind == 9) { // these make small differences large, and are not looked into yet
		kind = 0
	}
	switch kind {
	case 0, 1, 2:
		return fmt.Sprintf("s0.%c", c)
	case 3, 4:
		return fmt.Sprintf("n0.%c", c)
	case 5:
		return fmt.Sprintf("f0.%c", c)
	case 6:
		return fmt.Sprintf("fract(gl_FragCoord.%c / 64)", c)
	case 7:
		return fmt.Sprintf("(gl_FrontFacing ? %s : f0.%c)", m.value(d), c)
	case 8:
		return fmt.Sprintf("abs(%s(%c0.%c) * 4)", pick(m, "dFdx", "dFdy"), "sn"[m.rng.IntN(2)], c)
	case 9:
		d.textured = true
		return fmt.Sprintf("texture(tex, n0.xy * %d / 4).%c", 1+m.rng.IntN(12), c)
	case 10:
		if d.points {
			return "gl_PointCoord." + pick(m, "x", "y")
		}
		return fmt.Sprintf("block.list[%d].%c", m.rng.IntN(2), "xy"[m.rng.IntN(2)])
	case 11:
		if d.perSample && m.samples > 1 {
			return pick(m, "float(gl_SampleID) / 8", "gl_SamplePosition.x", "gl_SamplePosition.y", "q0."+string(c))
		}
		return "float(bitCount(uint(gl_SampleMaskIn[0]))) / 8"
	case 12:
		return "float(gl_ViewIndex) / 4"
	}
	return fmt.Sprintf("mix(%s, %s, k)", m.value(d), m.value(d))
}

// sceneDraw is what the shaders and the state of a draw have to agree about.
type sceneDraw struct {
	textured, points, perSample, dual bool
}

// linear is how n0 is interpolated. Where a primitive was clipped, lavapipe 22.3 has no number for noperspective
// inputs.
func (m *sceneMaker) linear() string {
	if m.plain && !m.whole {
		return "smooth"
	}
	return "noperspective"
}

func (m *sceneMaker) vertexShader(d *sceneDraw, attributes bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("layout(constant_id = 3) const float k = 0.5; layout(constant_id = 4) const int n = 3;")
	if attributes {
		line("layout(location = 0) in vec4 at; layout(location = 3) in vec4 va; layout(location = 7) in vec4 vb;")
	} else {
		line("layout(binding = 0) readonly buffer B { vec4 data[]; };")
	}
	line("layout(push_constant) uniform P { vec4 shift; };")
	line("layout(location = 0) out vec4 s0; layout(location = 1) %s out vec4 n0;", m.linear())
	line("layout(location = 2) flat out vec4 f0; layout(location = 3) centroid out vec4 q0;")
	line("layout(location = 4) out Block { vec2 list[2]; layout(location = 8, component = 1) float odd; } block;")
	clips, culls := 0, 0
	if m.one(4) && !m.whole {
		clips = 1 + m.rng.IntN(3)
	}
	if m.one(6) {
		culls = 1 + m.rng.IntN(2)
	}
	line("out gl_PerVertex { vec4 gl_Position; float gl_PointSize;")
	if clips > 0 {
		line("float gl_ClipDistance[%d];", clips)
	}
	if culls > 0 {
		line("float gl_CullDistance[%d];", culls)
	}
	line("};\nvoid main() {")
	if !attributes {
		line("int i = gl_VertexIndex %% %d; vec4 at = data[i * 3], va = data[i * 3 + 1], vb = data[i * 3 + 2];",
			sceneVertices)
	}
	line("gl_Position = at + vec4(gl_InstanceIndex / 4.0 * at.w, 0, gl_InstanceIndex / 16.0 * at.w, 0);")
	line("gl_Position += shift * at.w;")
	line("gl_PointSize = %d;", 1+m.rng.IntN(9))
	for i := range clips {
		line("gl_ClipDistance[%d] = va.%c - %g;", i, "xyzw"[m.rng.IntN(4)], float64(m.rng.IntN(4))/4)
	}
	for i := range culls {
		line("gl_CullDistance[%d] = vb.%c - %g;", i, "xyzw"[m.rng.IntN(4)], float64(m.rng.IntN(4))/4)
	}
	line("s0 = va; n0 = vb; f0 = va * 0.5 + vb * 0.25; q0 = vb * k;")
	line("block.list[0] = va.xy; block.list[1] = vb.zw; block.odd = va.z * k;")
	line("for (int j = 0; j < n; j++) s0[j & 3] *= 0.75;")
	line("}")
	return b.String()
}

func (m *sceneMaker) fragmentShader(d *sceneDraw) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	head := "layout(constant_id = 3) const float k = 0.25;\n"
	head += "layout(location = 0) in vec4 s0; layout(location = 1) " + m.linear() + " in vec4 n0;\n" +
		"layout(location = 2) flat in vec4 f0;\n" +
		"layout(location = 4) in Block { vec2 list[2]; layout(location = 8, component = 1) float odd; } block;\n"
	place := pick(m, "", "centroid ")
	if m.plain { // which samples a driver takes for a centroid is its own affair
		place = ""
	}
	if d.perSample {
		place = "sample "
	}
	head += "layout(location = 3) " + place + "in vec4 q0;\n" +
		"layout(binding = 0) readonly buffer B { vec4 data[]; };\n" +
		"layout(push_constant) uniform P { layout(offset = 16) vec4 shade; };\n"
	if m.one(6) {
		head += "layout(early_fragment_tests) in;\n"
	}
	for i, p := range m.prefixes {
		head += fmt.Sprintf("layout(location = %d) out %svec4 c%d;\n", i, p, i)
	}
	if d.dual {
		head = strings.Replace(head, "layout(location = 0) out", "layout(location = 0, index = 0) out", 1)
		head += "layout(location = 0, index = 1) out vec4 second;\n"
	}
	for i, p := range m.prefixes {
		switch {
		case p == "" && !m.plain && m.one(10):
			line("c%d = vec4(%s) / 0;", i, m.value(d))
		case p == "":
			line("c%d = vec4(%s, %s, %s, %s);", i, m.value(d), m.value(d), m.value(d), m.value(d))
		default:
			line("c%d = %svec4(floor(vec4(%s, f0.y, %s, 1) * 96));", i, p, m.value(d), m.value(d))
		}
	}
	if m.prefixes[0] == "" {
		line("c0 = c0 * shade + data[1] * 0.125;")
	}
	if d.dual {
		line("second = vec4(%s, %s, %s, %s);", m.value(d), m.value(d), m.value(d), m.value(d))
	}
	if m.one(4) {
		line("if (fract(gl_FragCoord.x / %d + gl_FragCoord.y / 16) < 0.3) %s;", 2+m.rng.IntN(8),
			pick(m, "discard", "demote"))
	}
	if m.one(6) {
		line("gl_FragDepth = %s;", pick(m, "f0.x", "gl_FragCoord.z * 0.5", "fract(gl_FragCoord.x / 8)"))
	}
	if m.samples > 1 && m.one(6) {
		line("gl_SampleMask[0] = int(gl_FragCoord.x) | %d;", m.rng.IntN(4))
	}
	body := b.String()
	if d.textured {
		head += "layout(binding = 1) uniform sampler2D tex;\n"
	}
	return head + "void main() {\n" + body + "}\n"
}

const sceneVertices = 96

// state makes random state of a pipeline.
func (m *sceneMaker) state(d *sceneDraw, topology vk.PrimitiveTopology,
	restart, attributes bool) func(g *vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		g.Assembly.Topology = topology
		if restart {
			g.Assembly.PrimitiveRestartEnable = vk.TRUE
		}
		if attributes {
			g.Vertex([]vk.VertexInputBindingDescription{{Binding: 2, Stride: 48}}, []vk.VertexInputAttributeDescription{
				{Location: 0, Binding: 2, Format: rgba32f}, {Location: 3, Binding: 2, Format: rgba32f, Offset: 16},
				{Location: 7, Binding: 2, Format: rgba32f, Offset: 32}})
		}
		for i := range g.Stages[:g.Info.StageCount] {
			entries := vulkan.Put(&m.a, [2]vk.SpecializationMapEntry{{ConstantID: 3, Size: 4},
				{ConstantID: 4, Offset: 4, Size: 4}})
			x := vulkan.New[vk.SpecializationInfo](&m.a)
			x.MapEntryCount, x.PMapEntries, x.DataSize = 2, &entries[0], 8
			x.PData = unsafe.Pointer(vulkan.Put(&m.a, struct {
				k float32
				n int32
			}{float32(m.rng.IntN(5)) / 4, int32(m.rng.IntN(5))}))
			g.Stages[i].PSpecializationInfo = x
		}
		g.Vary(vk.DYNAMIC_STATE_VIEWPORT, vk.DYNAMIC_STATE_SCISSOR)
		m.rasterState(g)
		m.testState(g)
		m.blendState(g, d)
	}
}

func (m *sceneMaker) rasterState(g *vulkan.GraphicsState) {
	r := g.Raster
	r.CullMode = pick[vk.CullModeFlags](m, 0, 0, 0, 1, 2)
	r.FrontFace = vk.FrontFace(m.rng.IntN(2))
	if m.one(5) {
		r.DepthClampEnable = vk.TRUE
	}
	if !m.plain {
		r.PolygonMode = pick[vk.PolygonMode](m, 0, 0, 0, 0, 1, 2)
		r.LineWidth = float32(1 + m.rng.IntN(5))
		if m.one(4) {
			r.DepthBiasEnable, r.DepthBiasSlopeFactor, r.DepthBiasConstantFactor = vk.TRUE, m.rng.Float32()*4-2,
				m.rng.Float32()*1000
		}
	}
	v := vulkan.Put(&m.a, vk.Viewport{Width: float32(m.width), Height: float32(m.height), MaxDepth: 1})
	switch m.rng.IntN(5) {
	case 0:
		v.Y, v.Height = v.Height, -v.Height
	case 1:
		v.MinDepth, v.MaxDepth = 0.75, 0.25
	case 2:
		v.X, v.Y = float32(m.rng.IntN(20)), float32(-m.rng.IntN(20))
	case 3:
		if !m.plain {
			v.Width, v.Height = m.rng.Float32()*300+0.01, m.rng.Float32()*300-150
		}
	}
	g.Viewport.PViewports = v
	if m.one(3) {
		x, y := m.rng.Uint32N(m.width), m.rng.Uint32N(m.height)
		g.Viewport.PScissors = vulkan.Put(&m.a, vk.Rect2D{Offset: vk.Offset2D{X: int32(x), Y: int32(y)},
			Extent: vk.Extent2D{Width: m.rng.Uint32N(m.width - x + 1), Height: m.rng.Uint32N(m.height - y + 1)}})
	}
	s := g.Multisample
	s.RasterizationSamples = vk.SampleCountFlagBits(m.samples)
	if m.one(4) {
		s.PSampleMask = vulkan.Put(&m.a, vk.SampleMask(m.rng.Uint32()))
	}
	if !m.plain {
		s.AlphaToCoverageEnable = vk.Bool32(m.rng.IntN(4) / 3)
		if m.one(4) {
			s.SampleShadingEnable, s.MinSampleShading = vk.TRUE, m.rng.Float32()
		}
	}
	s.AlphaToOneEnable = vk.Bool32(m.rng.IntN(6) / 5)
}

func (m *sceneMaker) testState(g *vulkan.GraphicsState) {
	d := g.Depth
	flag := func(n int) vk.Bool32 {
		if m.one(n) {
			return vk.TRUE
		}
		return vk.FALSE
	}
	d.DepthTestEnable, d.DepthWriteEnable = flag(2), flag(2)
	d.DepthCompareOp = vk.CompareOp(m.rng.IntN(8))
	if m.plain { // depths that are nearly equal
		d.DepthCompareOp = pick[vk.CompareOp](m, vk.COMPARE_OP_LESS, vk.COMPARE_OP_GREATER_OR_EQUAL, vk.COMPARE_OP_ALWAYS)
	}
	if m.one(6) && !m.plain { // lavapipe 22.3 writes the first attachment where this test fails
		d.DepthBoundsTestEnable, d.MinDepthBounds, d.MaxDepthBounds = vk.TRUE, 0.3, 0.8
	}
	d.StencilTestEnable = flag(2)
	face := func() vk.StencilOpState {
		op := func() vk.StencilOp { return vk.StencilOp(m.rng.IntN(8)) }
		return vk.StencilOpState{FailOp: op(), PassOp: op(), DepthFailOp: op(), CompareOp: vk.CompareOp(m.rng.IntN(8)),
			CompareMask: pick[uint32](m, 255, 15, m.rng.Uint32()), WriteMask: pick[uint32](m, 255, m.rng.Uint32()),
			Reference: m.rng.Uint32N(256)}
	}
	d.Front, d.Back = face(), face()
}

func (m *sceneMaker) blendState(g *vulkan.GraphicsState, d *sceneDraw) {
	if m.one(6) {
		g.Blend.LogicOpEnable, g.Blend.LogicOp = vk.TRUE, vk.LogicOp(m.rng.IntN(16))
	}
	for i := range g.Blend.BlendConstants {
		g.Blend.BlendConstants[i] = float32(m.rng.IntN(5)) / 4
	}
	for i := range m.colors {
		a := &g.Attachments[i]
		if m.one(4) {
			a.ColorWriteMask = vk.ColorComponentFlags(m.rng.IntN(16))
		}
		if m.prefixes[i] != "" || !m.one(2) && !d.dual {
			continue
		}
		factor := func() vk.BlendFactor {
			if d.dual {
				return vk.BlendFactor(m.rng.IntN(19))
			}
			return vk.BlendFactor(m.rng.IntN(15))
		}
		a.BlendEnable = vk.TRUE
		a.SrcColorBlendFactor, a.DstColorBlendFactor = factor(), factor()
		a.SrcAlphaBlendFactor, a.DstAlphaBlendFactor = factor(), factor()
		a.ColorBlendOp, a.AlphaBlendOp = vk.BlendOp(m.rng.IntN(5)), vk.BlendOp(m.rng.IntN(5))
	}
}

// look is a random draw.
func (m *sceneMaker) look() *look {
	d := &sceneDraw{perSample: m.one(3), dual: len(m.colors) == 1 && m.prefixes[0] == "" && m.one(3)}
	topologies := []vk.PrimitiveTopology{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, vk.PRIMITIVE_TOPOLOGY_POINT_LIST,
		vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP}
	topology := topologies[m.rng.IntN(len(topologies))]
	if m.plain {
		topology = topologies[m.rng.IntN(4)]
	}
	d.points = topology == vk.PRIMITIVE_TOPOLOGY_POINT_LIST
	attributes := m.one(2)
	l := &look{viewMask: m.viewMask, push: []float32{0, 0, 0, 0, 1, 1, 1, 1}, vertex: m.vertexShader(d, attributes),
		buffers: []any{m.corners(sceneVertices), m.texture}}
	if !m.one(20) {
		l.fragment = m.fragmentShader(d)
	}
	strip := topology != vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST && topology != vk.PRIMITIVE_TOPOLOGY_LINE_LIST && !d.points
	indexed := m.one(3)
	l.edit = m.state(d, topology, indexed && strip && m.one(2), attributes)
	count, instances := uintptr(m.rng.IntN(sceneVertices+1)), uintptr(m.rng.IntN(3)+1)
	var vertices, indices *shaderBuffer
	if attributes {
		vertices = m.c.shaderBuffer(l.buffers[0], vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
		m.free = append(m.free, vertices.free)
	}
	if indexed {
		list := make([]uint16, 120)
		for i := range list {
			if list[i] = uint16(m.rng.IntN(sceneVertices)); m.one(12) && strip {
				list[i] = 0xffff
			}
		}
		indices = m.c.shaderBuffer(list, vk.BUFFER_USAGE_INDEX_BUFFER_BIT)
		m.free = append(m.free, indices.free)
	}
	first := uintptr(m.rng.IntN(20))
	l.record = func(cb vk.CommandBuffer) {
		if vertices != nil {
			m.c.dev.BindVertices(cb, 2, vertices.buffer)
		}
		if indices != nil {
			m.c.dev.CallOn("vkCmdBindIndexBuffer", uintptr(cb), uintptr(indices.buffer), 0, uintptr(vk.INDEX_TYPE_UINT16))
			m.c.dev.CallOn("vkCmdDrawIndexed", uintptr(cb), count, instances, first, 0, 0)
			return
		}
		m.c.dev.CallOn("vkCmdDraw", uintptr(cb), count, instances, min(first, sceneVertices-count), 0)
	}
	return l
}

// several has what a look draws be drawn a few times. Between them change, or are set again, viewports, scissors, push
// constants of both stages and descriptor sets.
func (m *sceneMaker) several(d *drawn) {
	dev := m.c.dev
	pool, r := dev.CreateDescriptorPool(0, 1, vulkan.Binding{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
		vulkan.Binding{Type: m.texture.Type, Count: 1})
	m.c.must("vkCreateDescriptorPool", r)
	others, r := dev.AllocateSets(pool, d.layouts...)
	m.c.must("vkAllocateDescriptorSets", r)
	data := m.c.shaderBuffer(m.corners(sceneVertices), vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	m.free = append(m.free, func() { dev.DestroyDescriptorPool(pool) }, data.free)
	texture := m.texture.Descriptor
	texture.Binding = 1
	dev.WriteSet(others[0], vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		Buffer: vk.DescriptorBufferInfo{Buffer: data.buffer, Range: vk.WHOLE_SIZE}})
	dev.WriteSet(others[0], texture)
	sets := [2][]vk.DescriptorSet{d.sets, others}
	changes := []func(){m.place(), m.place()}
	for range 1 + m.rng.IntN(9) {
		change := func() {}
		switch m.rng.IntN(6) {
		case 0, 1:
			change = m.place()
		case 2, 3:
			stage := m.rng.IntN(2)
			push := []float32{float32(m.rng.IntN(5)) / 4, float32(m.rng.IntN(5)) / 4, 0, 0}
			change = func() {
				dev.PushStages(m.cb, d.layout, vk.SHADER_STAGE_VERTEX_BIT|vk.SHADER_STAGE_FRAGMENT_BIT, uint32(16*stage),
					bytesOf(push))
			}
		case 4, 5:
			set := sets[m.rng.IntN(2)]
			change = func() { dev.BindGraphicsSets(m.cb, d.layout, set) }
		}
		changes = append(changes, change)
	}
	once := d.look.record
	d.look.record = func(cb vk.CommandBuffer) {
		for i, change := range changes {
			if change(); i > 0 {
				once(cb)
			}
		}
	}
}

// place sets a random viewport and scissor.
func (m *sceneMaker) place() func() {
	v, s := vulkan.New[vk.Viewport](&m.a), vulkan.New[vk.Rect2D](&m.a)
	*v = vk.Viewport{Width: float32(m.width), Height: float32(m.height), MaxDepth: 1}
	s.Extent = vk.Extent2D{Width: m.width, Height: m.height}
	if m.one(2) {
		v.X, v.Y = float32(m.rng.IntN(40)), float32(m.rng.IntN(40))
	}
	if m.one(2) {
		s.Offset.X, s.Extent.Height = int32(m.rng.IntN(int(m.width))), 1+uint32(m.rng.IntN(int(m.height)))
	}
	return func() {
		m.cmd("vkCmdSetViewport", 0, 1, ptr(v))
		m.cmd("vkCmdSetScissor", 0, 1, ptr(s))
	}
}
