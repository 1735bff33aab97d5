package icd

import (
	"strings"
	"unsafe"

	"farside/internal/vk"
)

// VK_KHR_pipeline_executable_properties: a pipeline is one executable, its register program.

// inspected looks up the pipeline whose executable command asks for. vuid is the rule about the feature, flagRule the
// one about the flag that the pipeline was created with.
func inspected(command string, handle vk.Pipeline, index uint32, vuid vk.VUID, flag vk.PipelineCreateFlags2,
	flagRule vk.VUID) (*pipeline, vk.Result) {
	p := live(pipelines, handle)
	var err error
	switch {
	case !p.device.allows("pipelineExecutableInfo", vuid):
		err = vk.Errorf(vk.ERROR_UNKNOWN, vuid, "the device was created without the pipelineExecutableInfo feature")
	case flag != 0 && p.flags&flag == 0:
		err = vk.Errorf(vk.ERROR_UNKNOWN, flagRule, "the pipeline was created without %v", flag)
	case index != 0:
		err = vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineExecutableInfoKHR_executableIndex_03275, "executable %d of 1",
			index)
	default:
		return p, vk.SUCCESS
	}
	return nil, p.fail(command, err)
}

func getPipelineExecutablePropertiesKHR(
	_ *device, info *vk.PipelineInfoKHR, count *uint32, out *vk.PipelineExecutablePropertiesKHR,
) vk.Result {
	p, r := inspected("vkGetPipelineExecutablePropertiesKHR", info.Pipeline, 0,
		vk.VUID_vkGetPipelineExecutablePropertiesKHR_pipelineExecutableInfo_03270, 0, vk.NoVUID)
	if p == nil {
		return r
	}
	if out == nil {
		*count = 1
		return vk.SUCCESS
	}
	if *count == 0 {
		return vk.INCOMPLETE
	}
	*count = 1
	out.Stages = vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
	vk.CopyString(out.Name[:], "compute")
	vk.CopyString(out.Description[:], "the register program of entry point "+p.shader.program.Name)
	out.SubgroupSize = p.shader.program.SubgroupSize
	return vk.SUCCESS
}

// statistics are what there is to count in a program.
func (p *pipeline) statistics() ([]statistic, error) {
	g := p.shader.program
	if err := g.LayOut(); err != nil {
		return nil, err
	}
	return []statistic{
		{"Instructions", "of the register program", uint64(len(g.Insts))},
		{"Register File", "bytes of registers of a workgroup", uint64(g.FileSize)},
		{"Workgroup Memory", "bytes", uint64(g.Shared)},
		{"Invocations", "of a workgroup, which run in lockstep", uint64(g.Lanes)},
		{"Loops", "of the shader after inlining", uint64(len(g.Loops))},
	}, nil
}

type statistic struct {
	name, description string
	value             uint64
}

func getPipelineExecutableStatisticsKHR(
	_ *device, info *vk.PipelineExecutableInfoKHR, count *uint32, out *vk.PipelineExecutableStatisticKHR,
) vk.Result {
	p, r := inspected("vkGetPipelineExecutableStatisticsKHR", info.Pipeline, info.ExecutableIndex,
		vk.VUID_vkGetPipelineExecutableStatisticsKHR_pipelineExecutableInfo_03272,
		vk.PIPELINE_CREATE_2_CAPTURE_STATISTICS_BIT_KHR, vk.VUID_vkGetPipelineExecutableStatisticsKHR_pipeline_03274)
	if p == nil {
		return r
	}
	list, err := p.statistics()
	if err != nil {
		return p.fail("vkGetPipelineExecutableStatisticsKHR", err)
	}
	if out == nil {
		*count = uint32(len(list))
		return vk.SUCCESS
	}
	result := vk.SUCCESS
	if *count < uint32(len(list)) {
		result = vk.INCOMPLETE
	}
	*count = min(*count, uint32(len(list)))
	slots := vk.Slice(out, *count)
	for i := range slots {
		s := &slots[i]
		vk.CopyString(s.Name[:], list[i].name)
		vk.CopyString(s.Description[:], list[i].description)
		s.Format = vk.PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR
		*s.Value.U64() = list[i].value
	}
	return result
}

func getPipelineExecutableInternalRepresentationsKHR(
	_ *device, info *vk.PipelineExecutableInfoKHR, count *uint32,
	out *vk.PipelineExecutableInternalRepresentationKHR,
) vk.Result {
	p, r := inspected("vkGetPipelineExecutableInternalRepresentationsKHR", info.Pipeline, info.ExecutableIndex,
		vk.VUID_vkGetPipelineExecutableInternalRepresentationsKHR_pipelineExecutableInfo_03276,
		vk.PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
		vk.VUID_vkGetPipelineExecutableInternalRepresentationsKHR_pipeline_03278)
	if p == nil {
		return r
	}
	list, err := p.representations()
	if err != nil {
		return p.fail("vkGetPipelineExecutableInternalRepresentationsKHR", err)
	}
	if out == nil {
		*count = uint32(len(list))
		return vk.SUCCESS
	}
	result := vk.SUCCESS
	if *count < uint32(len(list)) {
		result = vk.INCOMPLETE
	}
	*count = min(*count, uint32(len(list)))
	slots := vk.Slice(out, *count)
	for i := range slots {
		if !list[i].copyTo(&slots[i]) {
			result = vk.INCOMPLETE
		}
	}
	return result
}

// representation is a text of a shader.
type representation struct{ name, description, text string }

// copyTo writes a text, or how long it is with its final zero. It says whether there was room for all of it.
func (r *representation) copyTo(out *vk.PipelineExecutableInternalRepresentationKHR) bool {
	vk.CopyString(out.Name[:], r.name)
	vk.CopyString(out.Description[:], r.description)
	out.IsText = vk.TRUE
	whole := true
	if out.PData != nil {
		room := unsafe.Slice((*byte)(out.PData), out.DataSize)
		vk.CopyString(room, r.text)
		whole = len(room) > len(r.text)
	}
	if out.PData == nil || whole {
		out.DataSize = uintptr(len(r.text) + 1)
	}
	return whole
}

// mostRepresented is how many bytes of texts a shader has, but for that of its program. Passes beyond have none.
const mostRepresented = 16 << 20

// representations are the graph of a shader behind each pass of the compiler, for which it is compiled again, and at
// last its program. Nothing of them is kept: they are hundreds of times larger than the shader.
func (p *pipeline) representations() ([]representation, error) {
	var list []representation
	total := 0
	again, err := p.device.compileAs(p.stage, func(pass, text string) {
		if total += len(text); total <= mostRepresented && !strings.HasSuffix(pass, "-program") {
			list = append(list, representation{pass, "the shader behind this pass of the compiler", text})
		}
	})
	if err != nil {
		return nil, err
	}
	program := again.program.String() // the last passes are done now
	return append(list, representation{"Register Program", "each instruction is done for all invocations of a workgroup",
		program}), nil
}
