package icd

import (
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/exec"
	"farside/internal/vk"
)

// Graphics pipelines. Their state is of four parts (chapter "Complete Graphics Pipelines"), each of which a library may
// have brought: vertex input, pre-rasterization shaders, fragment shader, fragment output.

const (
	inputPart    = vk.GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT
	vertexPart   = vk.GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT
	fragmentPart = vk.GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT
	outputPart   = vk.GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT
	allParts     = inputPart | vertexPart | fragmentPart | outputPart
)

// graphicsParts is what a graphics pipeline, or a library, is made of.
type graphicsParts struct {
	parts   vk.GraphicsPipelineLibraryFlagsEXT
	state   exec.Graphics
	sets    []*descriptor.Layout
	shaders [stages]*shader // by stage; nil where there is none
	stages  [stages]*stage  // likewise, with the flag for internal representations
}

// graphicsMaker makes a graphics pipeline.
type graphicsMaker struct {
	*device
	info    *vk.GraphicsPipelineCreateInfo
	flags   vk.PipelineCreateFlags2
	cache   *pipelineCache
	own     vk.GraphicsPipelineLibraryFlagsEXT // the parts that info itself describes
	dynamic exec.DynamicStates                 // that info itself names
	made    graphicsParts
	layout  *pipelineLayout // nil where there is none

	begin   uint64
	stages  []madeStage // in the order of info's
	linking bool        // libraries are part of it
}

// madeStage is what creation feedback says of a stage.
type madeStage struct {
	duration uint64
	found    bool
}

func createGraphicsPipelines(
	d *device, cacheHandle vk.PipelineCache, count uint32, infos *vk.GraphicsPipelineCreateInfo,
	_ *vk.AllocationCallbacks, out *vk.Pipeline,
) vk.Result {
	const command = "vkCreateGraphicsPipelines"
	if !d.physical.graphics() {
		return noGraphics(d, command, vk.VUID_vkCreateGraphicsPipelines_device_09662, out, count)
	}
	cache := pipelineCaches.Get(uint64(cacheHandle))
	if cacheHandle != 0 && (cache == nil || cache.device != d) {
		rule := vk.VUID_vkCreateGraphicsPipelines_pipelineCache_parameter
		if cache != nil {
			rule = vk.VUID_vkCreateGraphicsPipelines_pipelineCache_parent
		}
		return d.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, rule, "%#x is no pipeline cache of the device",
			uint64(cacheHandle)))
	}
	results := vk.Slice(out, count)
	clear(results)
	list, err := elements(infos, count, vk.VUID_vkCreateGraphicsPipelines_createInfoCount_arraylength,
		vk.VUID_vkCreateGraphicsPipelines_pCreateInfos_parameter)
	if err != nil {
		return d.fail(command, err)
	}
	outcome := vk.SUCCESS
	for i := range list {
		m := graphicsMaker{device: d, info: &list[i], flags: graphicsFlags(&list[i]), cache: cache, begin: exec.Now()}
		p, err := m.make(results[:i])
		m.giveFeedback(err == nil)
		if err == nil {
			results[i] = vk.Pipeline(d.add(p))
			continue
		}
		// An error counts for more than VK_PIPELINE_COMPILE_REQUIRED, which is none.
		if r := d.fail(command, err); outcome >= 0 && r != outcome {
			outcome = min(r, vk.PIPELINE_COMPILE_REQUIRED)
		}
		if m.flags&vk.PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT != 0 {
			break
		}
	}
	return outcome
}

// graphicsFlags are the flags of a pipeline; VkPipelineCreateFlags2CreateInfo replaces those of the structure.
func graphicsFlags(info *vk.GraphicsPipelineCreateInfo) vk.PipelineCreateFlags2 {
	if f := vk.Find[vk.PipelineCreateFlags2CreateInfo](info.PNext); f != nil {
		return f.Flags
	}
	return vk.PipelineCreateFlags2(info.Flags)
}

// make makes the pipeline; earlier are those of the same call.
func (m *graphicsMaker) make(earlier []vk.Pipeline) (*pipeline, error) {
	if err := m.checkFlags(earlier); err != nil {
		return nil, err
	}
	if err := m.readParts(); err != nil {
		return nil, err
	}
	if err := m.readDynamic(); err != nil {
		return nil, err
	}
	for _, read := range []struct {
		part vk.GraphicsPipelineLibraryFlagsEXT
		read func() error
	}{{inputPart, m.readInput}, {vertexPart, m.readRasterization}, {outputPart, m.readOutput},
		{fragmentPart, m.readFragment}, {fragmentPart, m.readInputs},
		{vertexPart | fragmentPart, m.readStages}} {
		if m.own&read.part != 0 {
			if err := read.read(); err != nil {
				return nil, err
			}
		}
	}
	g := &m.made
	library := m.flags&vk.PIPELINE_CREATE_2_LIBRARY_BIT_KHR != 0
	if !library {
		if err := m.checkWhole(); err != nil {
			return nil, err
		}
	}
	p := &pipeline{child: child{device: m.device}, flags: m.flags, graphics: g,
		exec: exec.Pipeline{Graphics: &g.state, Library: library, Sets: g.sets}}
	g.state.Needs = g.state.Dynamic
	seen := map[uint32]bool{}
	for _, s := range g.shaders {
		if s == nil {
			continue
		}
		g.state.Atomics = g.state.Atomics || s.program.Atomics
		for _, n := range s.sets {
			if !seen[n] {
				seen[n] = true
				p.exec.Uses = append(p.exec.Uses, n)
			}
		}
	}
	return p, nil
}

// checkWhole looks at a pipeline that draws can use.
func (m *graphicsMaker) checkWhole() error {
	g := &m.made
	need := allParts
	if g.state.State.NoRasterizer && !g.state.Dynamic.Has(vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE) {
		need = inputPart | vertexPart
	}
	switch {
	case g.parts&need != need:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_flags_08909,
			"the pipeline lacks the parts %v", need&^g.parts)
	case g.shaders[vertexStage] == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_stage_02096, "there is no vertex shader")
	}
	for _, n := range usedSets(g.shaders[:]) {
		if int(n) >= len(g.sets) || g.sets[n] == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_layout_07988,
				"a shader uses set %d, and the layout has none", n)
		}
	}
	if g.state.State.Samples == 0 {
		g.state.State.Samples = 1
	}
	return m.checkInterface()
}

// usedSets are the sets that shaders use, some of them several times.
func usedSets(list []*shader) (sets []uint32) {
	for _, s := range list {
		if s != nil {
			sets = append(sets, s.sets...)
		}
	}
	return sets
}

// checkFlags looks at the flags and at the base of a derivative, which a pipeline has no use for.
func (m *graphicsMaker) checkFlags(earlier []vk.Pipeline) error {
	const known = pipelineFlags | vk.PIPELINE_CREATE_2_LIBRARY_BIT_KHR |
		vk.PIPELINE_CREATE_2_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT |
		vk.PIPELINE_CREATE_2_LINK_TIME_OPTIMIZATION_BIT_EXT | vk.PIPELINE_CREATE_2_VIEW_INDEX_FROM_DEVICE_INDEX_BIT |
		vk.PIPELINE_CREATE_2_COLOR_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT |
		vk.PIPELINE_CREATE_2_DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT
	flags := m.flags
	switch {
	case flags&^known != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_None_09497,
			"flags %v belong to features that the device does not have", flags&^known)
	case flags&cacheControlFlags != 0 && !m.allows("pipelineCreationCacheControl",
		vk.VUID_VkGraphicsPipelineCreateInfo_pipelineCreationCacheControl_02878):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pipelineCreationCacheControl_02878,
			"%v need the pipelineCreationCacheControl feature", flags&cacheControlFlags)
	case flags&vk.PIPELINE_CREATE_2_LIBRARY_BIT_KHR != 0 && !m.allows("graphicsPipelineLibrary",
		vk.VUID_VkGraphicsPipelineCreateInfo_graphicsPipelineLibrary_06606):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_graphicsPipelineLibrary_06606,
			"libraries need the graphicsPipelineLibrary feature")
	case flags&vk.PIPELINE_CREATE_2_DERIVATIVE_BIT == 0:
		return nil
	}
	base := m.info.BasePipelineHandle
	if i := m.info.BasePipelineIndex; i != -1 {
		switch {
		case base != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_flags_07986,
				"a base pipeline by handle, %#x, and by index, %d", uint64(base), i)
		case i < 0 || int(i) >= len(earlier):
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateGraphicsPipelines_flags_00720,
				"base pipeline %d is not before pipeline %d", i, len(earlier))
		}
		if base = earlier[i]; base == 0 {
			return nil // it failed, and its error is reported
		}
	}
	b := pipelines.Get(uint64(base))
	switch {
	case b == nil || b.device != m.device || b.graphics == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_flags_07984,
			"the base %#x is no graphics pipeline of the device", uint64(base))
	case b.flags&vk.PIPELINE_CREATE_2_ALLOW_DERIVATIVES_BIT == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCreateGraphicsPipelines_flags_00721,
			"the base pipeline was created without VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT")
	}
	return nil
}

// readParts finds out which parts the structure describes, and takes over those of libraries.
func (m *graphicsMaker) readParts() error {
	m.own = allParts
	libraries := vk.Find[vk.PipelineLibraryCreateInfoKHR](m.info.PNext)
	m.linking = libraries != nil && libraries.LibraryCount > 0
	switch g := vk.Find[vk.GraphicsPipelineLibraryCreateInfoEXT](m.info.PNext); {
	case g != nil:
		m.own = g.Flags & allParts
	case m.linking || m.flags&vk.PIPELINE_CREATE_2_LIBRARY_BIT_KHR != 0:
		m.own = 0
	}
	m.made.parts = m.own
	if err := m.readLayout(); err != nil {
		return err
	}
	if !m.linking {
		return nil
	}
	for _, h := range vk.Slice(libraries.PLibraries, libraries.LibraryCount) {
		l := pipelines.Get(uint64(h))
		switch {
		case l == nil || l.device != m.device:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLibraryCreateInfoKHR_pLibraries_parameter,
				"%#x is no pipeline of the device", uint64(h))
		case l.graphics == nil || !l.exec.Library:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLibraryCreateInfoKHR_pLibraries_03381,
				"%#x was created without VK_PIPELINE_CREATE_LIBRARY_BIT_KHR", uint64(h))
		case l.graphics.parts&m.made.parts != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pLibraries_06635,
				"two libraries, or one and the pipeline, have the parts %v", l.graphics.parts&m.made.parts)
		}
		m.made.take(l.graphics)
	}
	return nil
}

// take takes over the parts of a library.
func (g *graphicsParts) take(l *graphicsParts) {
	g.parts |= l.parts
	g.state.Dynamic |= l.state.Dynamic
	to, from := &g.state.State, &l.state.State
	if l.parts&inputPart != 0 {
		takeInput(to, from)
	}
	if l.parts&vertexPart != 0 {
		takeRasterization(to, from)
		g.state.ClipsUnclamped = l.state.ClipsUnclamped
		g.state.Viewports, g.state.Scissors = l.state.Viewports, l.state.Scissors
	}
	if l.parts&fragmentPart != 0 {
		takeFragment(to, from)
	}
	if l.parts&outputPart != 0 {
		takeOutput(to, from)
		g.state.Locations, g.state.Output = l.state.Locations, l.state.Output
	} else if l.parts&fragmentPart != 0 && to.Samples == 0 {
		to.Samples = from.Samples // of sample shading; the output's counts
	}
	for i, s := range l.shaders {
		if s != nil {
			g.shaders[i], g.stages[i] = s, l.stages[i]
		}
	}
	g.addSets(l.sets)
}

// addSets adds the set layouts of a library that others lack (VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT).
func (g *graphicsParts) addSets(list []*descriptor.Layout) {
	for i, l := range list {
		if i == len(g.sets) {
			g.sets = append(g.sets, nil)
		}
		if g.sets[i] == nil {
			g.sets[i] = l
		}
	}
}

func takeInput(to, from *draw.State) {
	to.Bindings, to.Attributes, to.Topology, to.Restart = from.Bindings, from.Attributes, from.Topology, from.Restart
}

func takeRasterization(to, from *draw.State) {
	to.Vertex, to.ProvokingLast = from.Vertex, from.ProvokingLast
	to.Viewports, to.Scissors, to.MinusOneToOne = from.Viewports, from.Scissors, from.MinusOneToOne
	to.NoRasterizer, to.DepthClamp, to.DepthClip = from.NoRasterizer, from.DepthClamp, from.DepthClip
	to.ClampRange, to.ClampMin, to.ClampMax = from.ClampRange, from.ClampMin, from.ClampMax
	to.PolygonMode, to.CullMode, to.FrontFace = from.PolygonMode, from.CullMode, from.FrontFace
	to.DepthBias = from.DepthBias
	to.LineWidth, to.LineMode, to.StippleLines = from.LineWidth, from.LineMode, from.StippleLines
	to.StippleFactor, to.StipplePattern = from.StippleFactor, from.StipplePattern
}

func takeFragment(to, from *draw.State) {
	to.Fragment = from.Fragment
	to.DepthTest, to.DepthWrite, to.DepthCompare = from.DepthTest, from.DepthWrite, from.DepthCompare
	to.DepthBounds, to.MinDepth, to.MaxDepth = from.DepthBounds, from.MinDepth, from.MaxDepth
	to.StencilTest, to.Front, to.Back = from.StencilTest, from.Front, from.Back
	to.SampleShading, to.MinSamples = from.SampleShading, from.MinSamples
}

func takeOutput(to, from *draw.State) {
	to.Samples, to.SampleMask = from.Samples, from.SampleMask
	to.SampleShading, to.MinSamples = from.SampleShading, from.MinSamples
	to.AlphaToCoverage, to.AlphaToOne = from.AlphaToCoverage, from.AlphaToOne
	to.LogicOpEnable, to.LogicOp = from.LogicOpEnable, from.LogicOp
	to.Blends, to.BlendConstants = from.Blends, from.BlendConstants
}

// readLayout looks up the pipeline layout. A library of vertex input or of output needs none.
func (m *graphicsMaker) readLayout() error {
	l := pipelineLayouts.Get(uint64(m.info.Layout))
	if l == nil || l.device != m.device {
		if m.info.Layout == 0 && (m.own&(vertexPart|fragmentPart) == 0) {
			return nil
		}
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_layout_06602,
			"%#x is no pipeline layout of the device", uint64(m.info.Layout))
	}
	if most := m.physical.limits.MaxPerStageResources; l.resources > uint64(most) {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_layout_01688,
			"%d resources in the layout are more than maxPerStageResources, %d", l.resources, most)
	}
	m.layout = l
	m.made.addSets(l.sets)
	return nil
}

// giveFeedback answers VkPipelineCreationFeedbackCreateInfo; durations are in nanoseconds.
func (m *graphicsMaker) giveFeedback(ok bool) {
	f := vk.Find[vk.PipelineCreationFeedbackCreateInfo](m.info.PNext)
	if f == nil {
		return
	}
	feedback := func(duration uint64, found bool) (v vk.PipelineCreationFeedback) {
		if ok {
			v.Flags, v.Duration = vk.PIPELINE_CREATION_FEEDBACK_VALID_BIT, max(duration, 1)
			if found {
				v.Flags |= vk.PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT
			}
		}
		return v
	}
	all := len(m.stages) > 0
	for _, s := range m.stages {
		all = all && s.found
	}
	if f.PPipelineCreationFeedback != nil {
		*f.PPipelineCreationFeedback = feedback(exec.Now()-m.begin, all)
	}
	list := vk.Slice(f.PPipelineStageCreationFeedbacks, f.PipelineStageCreationFeedbackCount)
	for i := range list {
		s := madeStage{}
		if i < len(m.stages) {
			s = m.stages[i]
		}
		list[i] = feedback(s.duration, s.found)
	}
}
