package icd

import (
	"fmt"
	"slices"

	"farside/compute"
	"farside/internal/draw"
	"farside/internal/exec"
	"farside/internal/vk"
)

// readStages makes the shaders of the parts that the structure describes.
func (m *graphicsMaker) readStages() error {
	list := vk.Slice(m.info.PStages, m.info.StageCount)
	if len(list) > 0 && m.info.PStages == nil {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pStages_06600, "pStages is NULL")
	}
	for i := range list {
		begin := exec.Now()
		number := slices.Index(stageBits[:], vk.ShaderStageFlags(list[i].Stage))
		if number == computeStage || number < 0 {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_pStages_06896,
				"stage %v needs features that the device does not have, or is none of graphics", list[i].Stage)
		}
		found, err := m.readGraphicsStage(&list[i], number)
		if err != nil {
			return err
		}
		m.stages = append(m.stages, madeStage{exec.Now() - begin, found})
	}
	return nil
}

// readGraphicsStage makes a shader. It says whether it was in the cache.
func (m *graphicsMaker) readGraphicsStage(info *vk.PipelineShaderStageCreateInfo, number int) (found bool, _ error) {
	g := &m.made
	part := [stages]vk.GraphicsPipelineLibraryFlagsEXT{vertexStage: vertexPart, fragmentStage: fragmentPart}[number]
	// The fragment shader of a pipeline that never rasterizes is not part of it.
	unused := number == fragmentStage && m.never()
	switch {
	case m.own&part == 0 || unused:
		return false, nil
	case g.shaders[number] != nil:
		return false, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_stage_06897,
			"two stages are %v", info.Stage)
	}
	st, err := m.readStage(info, number)
	if err != nil {
		return false, err
	}
	st.options.ViewOfDevice = m.flags&vk.PIPELINE_CREATE_2_VIEW_INDEX_FROM_DEVICE_INDEX_BIT != 0
	s, found, err := m.shaderOf(st, m.flags, m.cache)
	if err != nil {
		return false, err
	}
	if err := s.fits(m.layout, &graphicsFits); err != nil {
		return false, err
	}
	g.shaders[number] = s
	if number == vertexStage {
		g.state.State.Vertex = s.program
	} else {
		g.state.State.Fragment = s.program
	}
	if m.flags&vk.PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR != 0 {
		g.stages[number] = st
	}
	return found, nil
}

// never says whether no draw of the pipeline rasterizes.
func (m *graphicsMaker) never() bool {
	return m.own&vertexPart != 0 && m.made.state.State.NoRasterizer &&
		!m.dynamic.Has(vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE)
}

// checkInterface looks whether each stage gets what it reads (chapter "Interface Matching"). Of what is missing there
// is a warning.
func (m *graphicsMaker) checkInterface() error {
	s := &m.made.state.State
	if !m.made.state.Dynamic.Has(vk.DYNAMIC_STATE_VERTEX_INPUT_EXT) {
		if err := m.checkAttributes(s.Vertex.Inputs(), s.Attributes); err != nil {
			return err
		}
	}
	if s.Fragment == nil {
		return nil
	}
	return exec.CheckInterface(s.Vertex, s.Fragment, m.warn)
}

// checkAttributes looks whether there are attributes for the inputs of a vertex shader.
func (m *graphicsMaker) checkAttributes(inputs []compute.Variable, attributes []draw.VertexAttribute) error {
	return exec.EachUnfit(inputs, attributes, func(in *compute.Variable, a *draw.VertexAttribute) error {
		if a != nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkGraphicsPipelineCreateInfo_Input_08733,
				"attribute %d is %v, and the vertex shader reads another kind of numbers", in.Location, a.Format)
		}
		m.warn(vk.VUID_VkGraphicsPipelineCreateInfo_Input_07904,
			fmt.Sprintf("the vertex shader reads location %d, for which there is no attribute", in.Location))
		return nil
	})
}
