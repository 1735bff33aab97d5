package conformance

import (
	"fmt"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	inputPart    = vk.GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT
	vertexPart   = vk.GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
	fragmentPart = vk.GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
	outputPart   = vk.GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT
)

// libraryCases link pipelines from libraries.
func libraryCases() (list []definition) {
	add := func(name string, run func(c *Case)) {
		d := drawCase("pipeline.graphics_library."+name, run, "GraphicsPipelineLibrary")
		d.extensions = []string{vk.KHR_PIPELINE_LIBRARY_EXTENSION_NAME}
		d.valid = false // layers of 1.3.239 ask the linked pipeline for state that libraries have
		list = append(list, d)
	}
	for i, parts := range [][]vk.GraphicsPipelineLibraryFlagsEXT{
		{inputPart, vertexPart, fragmentPart, outputPart}, {outputPart, fragmentPart, vertexPart, inputPart},
		{inputPart | vertexPart, fragmentPart | outputPart}, {inputPart | outputPart, vertexPart | fragmentPart},
		{inputPart | vertexPart | fragmentPart | outputPart},
	} {
		add(fmt.Sprintf("parts_%d", i), func(c *Case) { libraryCase(c, 0, parts...) })
	}
	add("optimized", func(c *Case) {
		libraryCase(c, vk.PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT, inputPart, vertexPart, fragmentPart, outputPart)
	})
	add("some_inline", inlinePartsCase)
	add("library_of_libraries", nestedLibraryCase)
	add("independent_sets", independentSetsCase)
	return list
}

// libraries makes pipelines of parts of a state, and links them.
type libraries struct {
	s *scene
	g *vulkan.GraphicsState
}

// flags are those of a library for links with a flag.
func libraryFlags(link vk.PipelineCreateFlags) vk.PipelineCreateFlags {
	f := vk.PipelineCreateFlags(vk.PIPELINE_CREATE_LIBRARY_BIT_KHR)
	if link != 0 {
		f |= vk.PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT
	}
	return f
}

// make makes a pipeline of the parts of the state, and of libraries: it has nothing of other parts.
func (l *libraries) make(layout vk.PipelineLayout, flags vk.PipelineCreateFlags,
	parts vk.GraphicsPipelineLibraryFlagsEXT, list ...vk.Pipeline) vk.Pipeline {
	a, dev, full := &l.s.a, l.s.c.dev, l.g.Info
	info := vulkan.Struct[vk.GraphicsPipelineCreateInfo](a)
	info.Flags, info.Layout, info.BasePipelineIndex = flags, layout, -1
	if parts != 0 {
		p := vulkan.Struct[vk.GraphicsPipelineLibraryCreateInfoEXT](a)
		p.Flags = parts
		vulkan.Behind(unsafe.Pointer(info), unsafe.Pointer(p))
	}
	if len(list) > 0 {
		p := vulkan.Struct[vk.PipelineLibraryCreateInfoKHR](a)
		p.LibraryCount, p.PLibraries = uint32(len(list)), vulkan.First(vulkan.Make[vk.Pipeline](a, len(list)))
		copy(unsafe.Slice(p.PLibraries, len(list)), list)
		vulkan.Behind(unsafe.Pointer(info), unsafe.Pointer(p))
	}
	if parts&^inputPart != 0 {
		r := vulkan.Put(a, *l.g.Rendering)
		r.PNext = nil
		vulkan.Behind(unsafe.Pointer(info), unsafe.Pointer(r))
	}
	if parts&inputPart != 0 {
		info.PVertexInputState, info.PInputAssemblyState = full.PVertexInputState, full.PInputAssemblyState
	}
	if parts&vertexPart != 0 {
		info.PViewportState, info.PRasterizationState = full.PViewportState, full.PRasterizationState
	}
	if parts&fragmentPart != 0 {
		info.PDepthStencilState = full.PDepthStencilState
	}
	if parts&outputPart != 0 {
		info.PMultisampleState, info.PColorBlendState = full.PMultisampleState, full.PColorBlendState
	}
	info.PDynamicState = full.PDynamicState
	switch parts & (vertexPart | fragmentPart) {
	case vertexPart:
		info.StageCount, info.PStages = 1, &l.g.Stages[0]
	case fragmentPart:
		info.StageCount, info.PStages = 1, &l.g.Stages[1]
	case vertexPart | fragmentPart:
		info.StageCount, info.PStages = 2, &l.g.Stages[0]
	}
	if parts&(vertexPart|fragmentPart) == 0 && len(list) == 0 {
		info.Layout = 0
	}
	out := vulkan.New[vk.Pipeline](a)
	l.s.c.must("vkCreateGraphicsPipelines", vk.Result(dev.Call("vkCreateGraphicsPipelines", 0, 1, ptr(info), 0, ptr(out))))
	return *out
}

// libraryLook draws with state of all four parts: a strip with an attribute, culling, a depth test, blending.
func (s *scene) libraryLook(vertices vk.Buffer) *look {
	return &look{push: []float32{0.5, 0.25}, vertex: `layout(push_constant) uniform P { float z; float c; };
		layout(location = 0) in vec2 p;
		layout(location = 0) out float v;
		void main() { gl_Position = vec4(p, z, 1); v = c; }`,
		fragment: `layout(push_constant) uniform P { float z; float k; }; layout(location = 0) in float v;
		layout(location = 0) out vec4 c;
		void main() { c = vec4(v, k, 1, 1); }`,
		edit: func(g *vulkan.GraphicsState) {
			depthTest(vk.COMPARE_OP_LESS)(g)
			adds(g)
			g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
			g.Raster.CullMode, g.Raster.FrontFace = vk.CULL_MODE_BACK_BIT, vk.FRONT_FACE_CLOCKWISE
			g.Vertex([]vk.VertexInputBindingDescription{{Stride: 8}},
				[]vk.VertexInputAttributeDescription{{Format: vk.FORMAT_R32G32_SFLOAT}})
			g.Vary(vk.DYNAMIC_STATE_SCISSOR, vk.DYNAMIC_STATE_BLEND_CONSTANTS)
			g.Attachments[0].SrcColorBlendFactor = vk.BLEND_FACTOR_CONSTANT_COLOR
		}, record: func(cb vk.CommandBuffer) {
			s.c.dev.BindVertices(cb, 0, vertices)
			s.set("vkCmdSetScissor", 0, 1, ptr(vulkan.Put(&s.a, vk.Rect2D{Extent: vk.Extent2D{Width: 9, Height: 16}})))
			s.set("vkCmdSetBlendConstants", ptr(vulkan.Put(&s.a, [4]float32{2, 2, 2, 2})))
			s.set("vkCmdDraw", 4, 1, 0, 0)
		}}
}

// linked draws the look of pipelines that make links, and looks at the pixels.
func linkedCase(c *Case, link func(d *drawn, l *libraries) vk.Pipeline) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	*s.colors[0].clear.Color().Float32() = [4]float32{1, 1, 0, 0}
	vertices := c.shaderBuffer([]float32{-1, -1, 1, -1, -1, 1, 1, 1}, vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	defer vertices.free()
	l := s.libraryLook(vertices.buffer)
	l.create = func(d *drawn, g *vulkan.GraphicsState) vk.Pipeline { return link(d, &libraries{s, g}) }
	s.draw(l, l) // the second time the depth test fails
	s.pixels(s.colors[0], 1e-6, func(x, _ int) [4]float64 {
		if x < 9 {
			return [4]float64{1.5, 1.5, 2, 0}
		}
		return [4]float64{1, 1, 0, 0}
	})
}

// libraryCase links libraries, which are destroyed before the draw.
func libraryCase(c *Case, flags vk.PipelineCreateFlags, parts ...vk.GraphicsPipelineLibraryFlagsEXT) {
	linkedCase(c, func(d *drawn, l *libraries) vk.Pipeline {
		var list []vk.Pipeline
		for _, p := range parts {
			list = append(list, l.make(d.layout, libraryFlags(flags), p))
		}
		p := l.make(d.layout, flags, 0, list...)
		for _, p := range list {
			c.dev.DestroyPipeline(p)
		}
		return p
	})
}

// inlinePartsCase links two libraries with a pipeline that describes the rest.
func inlinePartsCase(c *Case) {
	linkedCase(c, func(d *drawn, l *libraries) vk.Pipeline {
		a := l.make(d.layout, libraryFlags(0), inputPart)
		b := l.make(d.layout, libraryFlags(0), fragmentPart)
		p := l.make(d.layout, 0, vertexPart|outputPart, a, b)
		c.dev.DestroyPipeline(a)
		c.dev.DestroyPipeline(b)
		return p
	})
}

// nestedLibraryCase makes a library of libraries.
func nestedLibraryCase(c *Case) {
	linkedCase(c, func(d *drawn, l *libraries) vk.Pipeline {
		a := l.make(d.layout, libraryFlags(0), inputPart)
		b := l.make(d.layout, libraryFlags(0), vertexPart)
		both := l.make(d.layout, libraryFlags(0), 0, a, b)
		rest := l.make(d.layout, libraryFlags(0), fragmentPart|outputPart)
		p := l.make(d.layout, 0, 0, both, rest)
		for _, p := range []vk.Pipeline{a, b, both, rest} {
			c.dev.DestroyPipeline(p)
		}
		return p
	})
}

// independentSetsCase links a vertex shader that knows set 0 alone with a fragment shader that knows set 1 alone.
func independentSetsCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	dev := c.dev
	const kind = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER
	var made [2]vk.DescriptorSetLayout
	for i, stage := range []vk.ShaderStageFlagBits{vk.SHADER_STAGE_VERTEX_BIT, vk.SHADER_STAGE_FRAGMENT_BIT} {
		set, r := dev.CreateSetLayout(0, vulkan.Binding{Type: kind, Count: 1, Stages: vk.ShaderStageFlags(stage)})
		c.must("vkCreateDescriptorSetLayout", r)
		made[i] = set
	}
	pool, r := dev.CreateDescriptorPool(0, 2, vulkan.Binding{Type: kind, Count: 2})
	c.must("vkCreateDescriptorPool", r)
	sets, r := dev.AllocateSets(pool, made[0], made[1])
	c.must("vkAllocateDescriptorSets", r)
	for i, v := range [][]float32{{0.5, 0.25, 0.125, 1}, {2, 4, 8, 16}} {
		b := c.shaderBuffer(v, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
		defer b.free()
		dev.WriteSet(sets[i], vulkan.Descriptor{Type: kind,
			Buffer: vk.DescriptorBufferInfo{Buffer: b.buffer, Range: vk.WHOLE_SIZE}})
	}
	layout := func(list ...vk.DescriptorSetLayout) vk.PipelineLayout {
		info := vulkan.Struct[vk.PipelineLayoutCreateInfo](&s.a)
		info.Flags = vk.PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT
		info.SetLayoutCount, info.PSetLayouts = uint32(len(list)), vulkan.First(vulkan.Make[vk.DescriptorSetLayout](&s.a,
			len(list)))
		copy(unsafe.Slice(info.PSetLayouts, len(list)), list)
		out := vulkan.New[vk.PipelineLayout](&s.a)
		c.must("vkCreatePipelineLayout", vk.Result(dev.Call("vkCreatePipelineLayout", ptr(info), 0, ptr(out))))
		return *out
	}
	both, first, second := layout(made[:]...), layout(made[0], 0), layout(0, made[1])
	s.draw(&look{vertex: `layout(set = 0, binding = 0) readonly buffer B { vec4 a; }; layout(location = 0) out vec4 v;
		void main() {
			gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.5, 1);
			v = a;
		}`, fragment: `layout(set = 1, binding = 0) readonly buffer B { vec4 b; }; layout(location = 0) in vec4 v;
		layout(location = 0) out vec4 c; void main() { c = v * b; }`,
		create: func(_ *drawn, g *vulkan.GraphicsState) vk.Pipeline {
			l := &libraries{s, g}
			list := []vk.Pipeline{l.make(0, libraryFlags(0), inputPart|outputPart),
				l.make(first, libraryFlags(0), vertexPart), l.make(second, libraryFlags(0), fragmentPart)}
			p := l.make(both, 0, 0, list...)
			for _, p := range list {
				dev.DestroyPipeline(p)
			}
			return p
		}, record: func(cb vk.CommandBuffer) {
			dev.BindGraphicsSets(cb, both, sets)
			s.set("vkCmdDraw", 3, 1, 0, 0)
		}})
	s.pixels(s.colors[0], 1e-6, func(int, int) [4]float64 { return [4]float64{1, 1, 1, 16} })
	for _, l := range []vk.PipelineLayout{both, first, second} {
		dev.DestroyPipelineLayout(l)
	}
	dev.DestroyDescriptorPool(pool)
	for _, set := range made {
		dev.DestroySetLayout(set)
	}
}
