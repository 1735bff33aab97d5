package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// A ShaderConfig is what a shader object is made of.
type ShaderConfig struct {
	Stage        vk.ShaderStageFlagBits
	Next         vk.ShaderStageFlags
	Flags        vk.ShaderCreateFlagsEXT
	Code         []uint32 // SPIR-V
	Binary       []byte   // instead of Code
	Entry        string   // "" is "main"
	Sets         []vk.DescriptorSetLayout
	Push         []vk.PushConstantRange
	Constants    []Constant
	SubgroupSize uint32 // required; 0: any
}

func (c *ShaderConfig) fill(a *Arena, info *vk.ShaderCreateInfoEXT) {
	pipeline := PipelineConfig{Entry: c.Entry, Constants: c.Constants, SubgroupSize: c.SubgroupSize}.Info(a)
	info.SType, info.PNext = info.StructureType(), pipeline.Stage.PNext
	info.Flags, info.Stage, info.NextStage, info.CodeType = c.Flags, c.Stage, c.Next, vk.SHADER_CODE_TYPE_SPIRV_EXT
	info.CodeSize, info.PCode = uintptr(len(c.Code)*4), unsafe.Pointer(First(copied(a, c.Code)))
	if c.Binary != nil {
		info.CodeType = vk.SHADER_CODE_TYPE_BINARY_EXT
		info.CodeSize, info.PCode = uintptr(len(c.Binary)), unsafe.Pointer(First(copied(a, c.Binary)))
	}
	info.PName, info.PSpecializationInfo = pipeline.Stage.PName, pipeline.Stage.PSpecializationInfo
	info.SetLayoutCount, info.PSetLayouts = uint32(len(c.Sets)), First(copied(a, c.Sets))
	info.PushConstantRangeCount, info.PPushConstantRanges = uint32(len(c.Push)), First(copied(a, c.Push))
}

// CreateShaders is vkCreateShadersEXT. What it does not write stays 0xbad.
func (d *Device) CreateShaders(list ...ShaderConfig) ([]vk.ShaderEXT, vk.Result) {
	var a Arena
	defer a.Close()
	infos, out := Make[vk.ShaderCreateInfoEXT](&a, len(list)), Make[vk.ShaderEXT](&a, len(list))
	for i := range list {
		list[i].fill(&a, &infos[i])
		out[i] = 0xbad
	}
	r := vk.Result(d.Call("vkCreateShadersEXT", uintptr(len(list)), addr(First(infos)), 0, addr(First(out))))
	return append([]vk.ShaderEXT(nil), out...), r
}

// DestroyShader is vkDestroyShaderEXT.
func (d *Device) DestroyShader(s vk.ShaderEXT) { d.Call("vkDestroyShaderEXT", uintptr(s), 0) }

// ShaderBinary is vkGetShaderBinaryDataEXT, with room for less bytes fewer than it says.
func (d *Device) ShaderBinary(s vk.ShaderEXT, less int) ([]byte, vk.Result) {
	var a Arena
	defer a.Close()
	size := New[uintptr](&a)
	if r := vk.Result(d.Call("vkGetShaderBinaryDataEXT", uintptr(s), addr(size), 0)); r != vk.SUCCESS {
		return nil, r
	}
	data := Make[byte](&a, int(*size))
	*size -= uintptr(less)
	r := vk.Result(d.Call("vkGetShaderBinaryDataEXT", uintptr(s), addr(size), addr(First(data))))
	return append([]byte(nil), data[:*size]...), r
}

// BindShaders is vkCmdBindShadersEXT; without shaders the array is NULL.
func (d *Device) BindShaders(cb vk.CommandBuffer, stages []vk.ShaderStageFlagBits, shaders []vk.ShaderEXT) {
	var a Arena
	defer a.Close()
	var list *vk.ShaderEXT
	if shaders != nil {
		list = First(copied(&a, shaders))
	}
	d.CallOn("vkCmdBindShadersEXT", uintptr(cb), uintptr(len(stages)), addr(First(copied(&a, stages))), addr(list))
}
