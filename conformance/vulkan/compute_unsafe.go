package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// Transfers are the usages of a buffer that copies read and write.
const Transfers = vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT

// CreateUsageBuffer is CreateBuffer with these usages alone.
func (d *Device) CreateUsageBuffer(size uint64, usage vk.BufferUsageFlags, next unsafe.Pointer) (vk.Buffer, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.BufferCreateInfo](&a)
	info.PNext = next
	info.Size = size
	info.Usage = usage
	out := New[vk.Buffer](&a)
	r := vk.Result(d.Call("vkCreateBuffer", addr(info), 0, addr(out)))
	return *out, r
}

// ShaderModuleInfo is the structure for vkCreateShaderModule, whose size in bytes is that of the words. Its memory is
// a's.
func ShaderModuleInfo(a *Arena, code []uint32) *vk.ShaderModuleCreateInfo {
	info := Struct[vk.ShaderModuleCreateInfo](a)
	info.CodeSize, info.PCode = uintptr(len(code)*4), First(copied(a, code))
	return info
}

// CreateShaderModule is vkCreateShaderModule.
func (d *Device) CreateShaderModule(code []uint32) (vk.ShaderModule, vk.Result) {
	var a Arena
	defer a.Close()
	info := ShaderModuleInfo(&a, code)
	out := New[vk.ShaderModule](&a)
	r := vk.Result(d.Call("vkCreateShaderModule", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyShaderModule is vkDestroyShaderModule.
func (d *Device) DestroyShaderModule(m vk.ShaderModule) {
	d.Call("vkDestroyShaderModule", uintptr(m), 0)
}

// A Binding is a binding of a descriptor set layout for compute shaders.
type Binding struct {
	Binding  uint32
	Type     vk.DescriptorType
	Count    uint32
	Flags    vk.DescriptorBindingFlags
	Samplers []vk.Sampler        // immutable ones, or none
	Stages   vk.ShaderStageFlags // 0: compute
}

// CreateSetLayout is vkCreateDescriptorSetLayout.
func (d *Device) CreateSetLayout(flags vk.DescriptorSetLayoutCreateFlags, bindings ...Binding) (vk.DescriptorSetLayout,
	vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorSetLayoutCreateInfo](&a)
	list := Make[vk.DescriptorSetLayoutBinding](&a, len(bindings))
	bindingFlags := Make[vk.DescriptorBindingFlags](&a, len(bindings))
	flagged := false
	for i, b := range bindings {
		list[i].Binding, list[i].DescriptorType, list[i].DescriptorCount = b.Binding, b.Type, b.Count
		if list[i].StageFlags = b.Stages; b.Stages == 0 {
			list[i].StageFlags = vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
		}
		if len(b.Samplers) > 0 {
			list[i].PImmutableSamplers = First(copied(&a, b.Samplers))
		}
		bindingFlags[i] = b.Flags
		flagged = flagged || b.Flags != 0
	}
	if flagged {
		x := Struct[vk.DescriptorSetLayoutBindingFlagsCreateInfo](&a)
		x.BindingCount, x.PBindingFlags = uint32(len(bindings)), First(bindingFlags)
		info.PNext = unsafe.Pointer(x)
	}
	info.Flags, info.BindingCount, info.PBindings = flags, uint32(len(list)), First(list)
	out := New[vk.DescriptorSetLayout](&a)
	r := vk.Result(d.Call("vkCreateDescriptorSetLayout", addr(info), 0, addr(out)))
	return *out, r
}

// DestroySetLayout is vkDestroyDescriptorSetLayout.
func (d *Device) DestroySetLayout(l vk.DescriptorSetLayout) {
	d.Call("vkDestroyDescriptorSetLayout", uintptr(l), 0)
}

// CreatePipelineLayout is vkCreatePipelineLayout with a range of pushBytes bytes of push constants, none for 0.
func (d *Device) CreatePipelineLayout(pushBytes int, sets ...vk.DescriptorSetLayout) (vk.PipelineLayout, vk.Result) {
	return d.CreateStagesLayout(vk.SHADER_STAGE_COMPUTE_BIT, pushBytes, sets...)
}

// CreateStagesLayout is CreatePipelineLayout whose push constants are for these stages.
func (d *Device) CreateStagesLayout(stages vk.ShaderStageFlags, pushBytes int,
	sets ...vk.DescriptorSetLayout) (vk.PipelineLayout, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.PipelineLayoutCreateInfo](&a)
	info.SetLayoutCount, info.PSetLayouts = uint32(len(sets)), First(copied(&a, sets))
	if pushBytes > 0 {
		info.PushConstantRangeCount = 1
		info.PPushConstantRanges = Put(&a, vk.PushConstantRange{StageFlags: stages, Size: uint32(pushBytes)})
	}
	out := New[vk.PipelineLayout](&a)
	r := vk.Result(d.Call("vkCreatePipelineLayout", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyPipelineLayout is vkDestroyPipelineLayout.
func (d *Device) DestroyPipelineLayout(l vk.PipelineLayout) {
	d.Call("vkDestroyPipelineLayout", uintptr(l), 0)
}

// A Constant is the value of a specialization constant.
type Constant struct {
	ID    uint32
	Value []byte
}

// PipelineConfig says what a compute pipeline is made of.
type PipelineConfig struct {
	Module       vk.ShaderModule
	Entry        string // "" is "main"
	Layout       vk.PipelineLayout
	Constants    []Constant
	SubgroupSize uint32 // required; 0: any
	Flags        vk.PipelineCreateFlags
	StageFlags   vk.PipelineShaderStageCreateFlags
	Cache        vk.PipelineCache
	Next         unsafe.Pointer // chained behind VkComputePipelineCreateInfo
}

// Info is the structure for vkCreateComputePipelines. Its memory is a's.
func (c PipelineConfig) Info(a *Arena) *vk.ComputePipelineCreateInfo {
	info := Struct[vk.ComputePipelineCreateInfo](a)
	info.PNext, info.Flags, info.Layout, info.BasePipelineIndex = c.Next, c.Flags, c.Layout, -1
	if c.Entry == "" {
		c.Entry = "main"
	}
	s := &info.Stage
	s.SType = vk.STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO
	s.Flags, s.Stage, s.Module, s.PName = c.StageFlags, vk.SHADER_STAGE_COMPUTE_BIT, c.Module, a.String(c.Entry)
	if len(c.Constants) > 0 {
		entries := Make[vk.SpecializationMapEntry](a, len(c.Constants))
		var data []byte
		for i, k := range c.Constants {
			entries[i] = vk.SpecializationMapEntry{ConstantID: k.ID, Offset: uint32(len(data)), Size: uintptr(len(k.Value))}
			data = append(data, k.Value...)
		}
		x := New[vk.SpecializationInfo](a)
		x.MapEntryCount, x.PMapEntries = uint32(len(entries)), First(entries)
		x.DataSize, x.PData = uintptr(len(data)), unsafe.Pointer(First(copied(a, data)))
		s.PSpecializationInfo = x
	}
	if c.SubgroupSize != 0 {
		x := Struct[vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo](a)
		x.RequiredSubgroupSize = c.SubgroupSize
		s.PNext = unsafe.Pointer(x)
	}
	return info
}

// CreateComputePipeline is vkCreateComputePipelines of one.
func (d *Device) CreateComputePipeline(c PipelineConfig) (vk.Pipeline, vk.Result) {
	var a Arena
	defer a.Close()
	out := New[vk.Pipeline](&a)
	r := vk.Result(d.Call("vkCreateComputePipelines", uintptr(c.Cache), 1, addr(c.Info(&a)), 0, addr(out)))
	return *out, r
}

// DestroyPipeline is vkDestroyPipeline.
func (d *Device) DestroyPipeline(p vk.Pipeline) { d.Call("vkDestroyPipeline", uintptr(p), 0) }

// CreateDescriptorPool is vkCreateDescriptorPool with room for so many sets and, of each binding's type, so many
// descriptors.
func (d *Device) CreateDescriptorPool(flags vk.DescriptorPoolCreateFlags, sets uint32,
	bindings ...Binding) (vk.DescriptorPool, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorPoolCreateInfo](&a)
	sizes := Make[vk.DescriptorPoolSize](&a, max(len(bindings), 1))
	sizes[0] = vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 1}
	for i, b := range bindings {
		sizes[i] = vk.DescriptorPoolSize{Type: b.Type, DescriptorCount: max(b.Count, 1)}
	}
	info.Flags, info.MaxSets, info.PoolSizeCount, info.PPoolSizes = flags, sets, uint32(len(sizes)), First(sizes)
	out := New[vk.DescriptorPool](&a)
	r := vk.Result(d.Call("vkCreateDescriptorPool", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyDescriptorPool is vkDestroyDescriptorPool.
func (d *Device) DestroyDescriptorPool(p vk.DescriptorPool) {
	d.Call("vkDestroyDescriptorPool", uintptr(p), 0)
}

// AllocateSets is vkAllocateDescriptorSets.
func (d *Device) AllocateSets(p vk.DescriptorPool, layouts ...vk.DescriptorSetLayout) ([]vk.DescriptorSet, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorSetAllocateInfo](&a)
	info.DescriptorPool, info.DescriptorSetCount, info.PSetLayouts = p, uint32(len(layouts)), First(copied(&a, layouts))
	out := Make[vk.DescriptorSet](&a, len(layouts))
	r := vk.Result(d.Call("vkAllocateDescriptorSets", addr(info), addr(First(out))))
	return append([]vk.DescriptorSet(nil), out...), r
}

// A Descriptor is what one write puts into a set, by the members that its type uses.
type Descriptor struct {
	Binding, Element uint32
	Type             vk.DescriptorType
	Buffer           vk.DescriptorBufferInfo // a Range of 0 is VK_WHOLE_SIZE
	Image            vk.DescriptorImageInfo
	View             vk.BufferView
	Immutable        bool // the sampler is the layout's
}

// WriteSet is vkUpdateDescriptorSets with writes only.
func (d *Device) WriteSet(set vk.DescriptorSet, list ...Descriptor) {
	var a Arena
	defer a.Close()
	writes := Make[vk.WriteDescriptorSet](&a, len(list))
	for i, x := range list {
		w := &writes[i]
		w.SType = vk.STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
		w.DstSet, w.DstBinding, w.DstArrayElement, w.DescriptorCount, w.DescriptorType = set, x.Binding, x.Element, 1, x.Type
		if x.Buffer.Range == 0 {
			x.Buffer.Range = vk.WHOLE_SIZE
		}
		w.PBufferInfo, w.PImageInfo, w.PTexelBufferView = Put(&a, x.Buffer), Put(&a, x.Image), Put(&a, x.View)
	}
	d.Call("vkUpdateDescriptorSets", uintptr(len(writes)), addr(First(writes)), 0, 0)
}

// BindCompute records vkCmdBindPipeline.
func (d *Device) BindCompute(cb vk.CommandBuffer, p vk.Pipeline) {
	d.CallOn("vkCmdBindPipeline", uintptr(cb), uintptr(vk.PIPELINE_BIND_POINT_COMPUTE), uintptr(p))
}

// BindSets records vkCmdBindDescriptorSets from set number first on.
func (d *Device) BindSets(cb vk.CommandBuffer, l vk.PipelineLayout, first uint32, sets []vk.DescriptorSet,
	offsets ...uint32) {
	d.bindSets(cb, vk.PIPELINE_BIND_POINT_COMPUTE, l, first, sets, offsets)
}

// BindGraphicsSets is BindSets for graphics, from set 0 on.
func (d *Device) BindGraphicsSets(cb vk.CommandBuffer, l vk.PipelineLayout, sets []vk.DescriptorSet) {
	d.bindSets(cb, vk.PIPELINE_BIND_POINT_GRAPHICS, l, 0, sets, nil)
}

func (d *Device) bindSets(cb vk.CommandBuffer, point vk.PipelineBindPoint, l vk.PipelineLayout, first uint32,
	sets []vk.DescriptorSet, offsets []uint32) {
	var a Arena
	defer a.Close()
	d.CallOn("vkCmdBindDescriptorSets", uintptr(cb), uintptr(point), uintptr(l), uintptr(first), uintptr(len(sets)),
		addr(First(copied(&a, sets))), uintptr(len(offsets)), addr(First(copied(&a, offsets))))
}

// Push records vkCmdPushConstants; offset is in bytes.
func (d *Device) Push(cb vk.CommandBuffer, l vk.PipelineLayout, offset uint32, data []byte) {
	d.PushStages(cb, l, vk.SHADER_STAGE_COMPUTE_BIT, offset, data)
}

// PushStages is Push for these stages.
func (d *Device) PushStages(cb vk.CommandBuffer, l vk.PipelineLayout, stages vk.ShaderStageFlags, offset uint32,
	data []byte) {
	var a Arena
	defer a.Close()
	d.CallOn("vkCmdPushConstants", uintptr(cb), uintptr(l), uintptr(stages), uintptr(offset),
		uintptr(len(data)), addr(First(copied(&a, data))))
}

// Dispatch records vkCmdDispatch.
func (d *Device) Dispatch(cb vk.CommandBuffer, x, y, z uint32) {
	d.CallOn("vkCmdDispatch", uintptr(cb), uintptr(x), uintptr(y), uintptr(z))
}

// Barrier records a memory barrier between all commands, also with the host.
func (d *Device) Barrier(cb vk.CommandBuffer) {
	var a Arena
	defer a.Close()
	b := Struct[vk.MemoryBarrier](&a)
	b.SrcAccessMask = vk.ACCESS_MEMORY_WRITE_BIT | vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_HOST_WRITE_BIT
	b.DstAccessMask = vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_MEMORY_WRITE_BIT | vk.ACCESS_HOST_READ_BIT
	const stages = vk.PIPELINE_STAGE_ALL_COMMANDS_BIT | vk.PIPELINE_STAGE_HOST_BIT
	d.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(stages), uintptr(stages), 0, 1, addr(b), 0, 0, 0, 0)
}
