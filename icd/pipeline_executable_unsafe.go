package icd

import (
	"strings"
	"unsafe"

	"farside/internal/vk"
)

// VK_KHR_pipeline_executable_properties: each shader of a pipeline is an executable, its register program.

// executable is a shader of a pipeline, and what it is compiled from again, if that is kept.
type executable struct {
	*shader
	again *stage
}

// executables are the shaders of a pipeline.
func (p *pipeline) executables() (list []executable) {
	if p.graphics == nil {
		return []executable{{p.shader, p.stage}}
	}
	for i, s := range p.graphics.shaders {
		if s != nil {
			list = append(list, executable{s, p.graphics.stages[i]})
		}
	}
	return list
}

// inspected looks up the executables of a pipeline that command asks for, from one on. vuid is the rule about the
// feature, flagRule the one about the flag that the pipeline was created with.
func inspected(command string, handle vk.Pipeline, index uint32, vuid vk.VUID, flag vk.PipelineCreateFlags2,
	flagRule vk.VUID) (*pipeline, []executable, vk.Result) {
	p := live(pipelines, handle)
	list := p.executables()
	var err error
	switch {
	case !p.device.allows("pipelineExecutableInfo", vuid):
		err = vk.Errorf(vk.ERROR_UNKNOWN, vuid, "the device was created without the pipelineExecutableInfo feature")
	case flag != 0 && p.flags&flag == 0:
		err = vk.Errorf(vk.ERROR_UNKNOWN, flagRule, "the pipeline was created without %v", flag)
	case index > 0 && index >= uint32(len(list)):
		err = vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineExecutableInfoKHR_executableIndex_03275, "executable %d of %d",
			index, len(list))
	default:
		return p, list[min(int(index), len(list)):], vk.SUCCESS
	}
	return nil, nil, p.fail(command, err)
}

func getPipelineExecutablePropertiesKHR(
	_ *device, info *vk.PipelineInfoKHR, count *uint32, out *vk.PipelineExecutablePropertiesKHR,
) vk.Result {
	p, list, r := inspected("vkGetPipelineExecutablePropertiesKHR", info.Pipeline, 0,
		vk.VUID_vkGetPipelineExecutablePropertiesKHR_pipelineExecutableInfo_03270, 0, vk.NoVUID)
	if p == nil {
		return r
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
		e, slot := &list[i], &slots[i]
		slot.Stages = stageBits[e.stage]
		vk.CopyString(slot.Name[:], [stages]string{"compute", "vertex", "fragment"}[e.stage])
		vk.CopyString(slot.Description[:], "the register program of entry point "+e.program.Name)
		slot.SubgroupSize = e.program.SubgroupSize
	}
	return result
}

// statistics are what there is to count in a program.
func (e *executable) statistics() ([]statistic, error) {
	g := e.program
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
	p, executables, r := inspected("vkGetPipelineExecutableStatisticsKHR", info.Pipeline, info.ExecutableIndex,
		vk.VUID_vkGetPipelineExecutableStatisticsKHR_pipelineExecutableInfo_03272,
		vk.PIPELINE_CREATE_2_CAPTURE_STATISTICS_BIT_KHR, vk.VUID_vkGetPipelineExecutableStatisticsKHR_pipeline_03274)
	if p == nil || len(executables) == 0 {
		return r
	}
	list, err := executables[0].statistics()
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
	p, executables, r := inspected("vkGetPipelineExecutableInternalRepresentationsKHR", info.Pipeline,
		info.ExecutableIndex,
		vk.VUID_vkGetPipelineExecutableInternalRepresentationsKHR_pipelineExecutableInfo_03276,
		vk.PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
		vk.VUID_vkGetPipelineExecutableInternalRepresentationsKHR_pipeline_03278)
	if p == nil || len(executables) == 0 {
		return r
	}
	list, err := executables[0].representations(p.device)
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
func (e *executable) representations(d *device) ([]representation, error) {
	var list []representation
	total := 0
	again, err := d.compileAs(e.again, func(pass, text string) {
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
