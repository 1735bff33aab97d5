package icd

import (
	"strings"
	"testing"
	"unsafe"

	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/vk"
)

// pushes reads what a command buffer has recorded, each write with its first descriptor.
func pushes(t *testing.T, b *commandBuffer) (sets []command.PushDescriptorSet, infos []descriptor.Descriptor) {
	t.Helper()
	for r := range b.stream.Records() {
		c := new(command.PushDescriptorSet)
		ok := r.PushDescriptorSet(c)
		if !ok {
			t.Fatalf("%v is recorded", r.Op)
		}
		sets = append(sets, *c)
		for w := range c.Writes() {
			infos = append(infos, w.Info(0))
		}
	}
	return sets, infos
}

func (r *recordingTest) pipelineLayout(layouts ...vk.DescriptorSetLayout) vk.PipelineLayout {
	r.Helper()
	var h vk.PipelineLayout
	info := vk.PipelineLayoutCreateInfo{SetLayoutCount: uint32(len(layouts)), PSetLayouts: unsafe.SliceData(layouts)}
	r.result(commands.CreatePipelineLayout(r.d.handle, &info, nil, &h), vk.SUCCESS)
	return h
}

func TestPushDescriptors(t *testing.T) {
	withoutGraphics(t)
	r := newRecordingTest(t)
	const samplerType = vk.DESCRIPTOR_TYPE_SAMPLER
	sampler := vk.Sampler(r.d.add(&sampler{child: child{device: r.d}}))
	pushed := newTestLayout(t, r.d, vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT, []vk.DescriptorSetLayoutBinding{
		{Binding: 0, DescriptorType: storageBuffer, DescriptorCount: 3},
		{Binding: 1, DescriptorType: samplerType, DescriptorCount: 1, PImmutableSamplers: &sampler},
	})
	plain := newTestLayout(t, r.d, 0, []vk.DescriptorSetLayoutBinding{{DescriptorType: storageBuffer, DescriptorCount: 3}})
	layout := r.pipelineLayout(plain, pushed)
	buffer := newTestBuffer(t, r.d, 256, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	b := r.allocate(r.pool(vk.COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), vk.COMMAND_BUFFER_LEVEL_PRIMARY)

	var data struct {
		first vk.DescriptorBufferInfo
		more  [2]struct {
			info  vk.DescriptorBufferInfo
			other uint64
		}
	}
	data.first = vk.DescriptorBufferInfo{Buffer: buffer, Offset: 16, Range: 32}
	data.more[0].info = vk.DescriptorBufferInfo{Buffer: buffer, Offset: 32, Range: 32}
	data.more[1].info = vk.DescriptorBufferInfo{Buffer: buffer, Offset: 48, Range: 32}
	entries := []vk.DescriptorUpdateTemplateEntry{
		{DescriptorCount: 1, DescriptorType: storageBuffer},
		{DstArrayElement: 1, DescriptorCount: 2, DescriptorType: storageBuffer, Offset: unsafe.Offsetof(data.more),
			Stride: unsafe.Sizeof(data.more[0])},
	}
	var template, forSets vk.DescriptorUpdateTemplate
	info := vk.DescriptorUpdateTemplateCreateInfo{
		DescriptorUpdateEntryCount: 2, PDescriptorUpdateEntries: &entries[0],
		TemplateType:      vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS,
		PipelineBindPoint: vk.PIPELINE_BIND_POINT_COMPUTE, PipelineLayout: layout, Set: 1,
	}
	r.result(commands.CreateDescriptorUpdateTemplate(r.d.handle, &info, nil, &template), vk.SUCCESS)
	sets := vk.DescriptorUpdateTemplateCreateInfo{DescriptorUpdateEntryCount: 1, PDescriptorUpdateEntries: &entries[0],
		DescriptorSetLayout: plain}
	r.result(commands.CreateDescriptorUpdateTemplate(r.d.handle, &sets, nil, &forSets), vk.SUCCESS)
	for vuid, change := range map[string]func(){
		"VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00352": func() { info.PipelineLayout = 0xdead },
		"VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00353": func() { info.Set = 0 },
	} {
		before := info
		change()
		var none vk.DescriptorUpdateTemplate
		r.result(commands.CreateDescriptorUpdateTemplate(r.d.handle, &info, nil, &none), vk.ERROR_UNKNOWN, vuid)
		info = before
	}

	// One command in four forms. Nobody says anything about the immutable sampler, nor about dstSet.
	writes := []vk.WriteDescriptorSet{
		{DstSet: 0xdead, DescriptorCount: 1, DescriptorType: storageBuffer, PBufferInfo: &data.first},
		{DstBinding: 1, DescriptorCount: 1, DescriptorType: samplerType},
	}
	const point, stages = vk.PIPELINE_BIND_POINT_COMPUTE, vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
	h := b.handle
	r.begin(b, 0)
	commands.CmdPushDescriptorSet(h, point, layout, 1, 2, &writes[0])
	commands.CmdPushDescriptorSet2(h, &vk.PushDescriptorSetInfo{StageFlags: stages, Layout: layout, Set: 1,
		DescriptorWriteCount: 1, PDescriptorWrites: &writes[0]})
	commands.CmdPushDescriptorSet2(h,
		&vk.PushDescriptorSetInfo{StageFlags: vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT), Layout: layout, Set: 1,
			DescriptorWriteCount: 1, PDescriptorWrites: &writes[0]})
	commands.CmdPushDescriptorSetWithTemplate(h, template, layout, 1, unsafe.Pointer(&data))
	commands.CmdPushDescriptorSetWithTemplate2(h,
		&vk.PushDescriptorSetWithTemplateInfo{DescriptorUpdateTemplate: template, Layout: layout, Set: 1,
			PData: unsafe.Pointer(&data)})
	r.result(commands.EndCommandBuffer(h), vk.SUCCESS)
	// not needed any more, and neither is the application's data
	commands.DestroyDescriptorUpdateTemplate(r.d.handle, template, nil)
	data.first.Buffer, data.more[0].info.Buffer = 0, 0
	got, infos := pushes(t, b)
	if len(got) != 4 || len(infos) != 6 {
		t.Fatalf("%d commands with %d writes", len(got), len(infos))
	}
	for i, c := range got {
		if c.PipelineBindPoint != point || c.Set != 1 || c.Layout != descriptorSetLayouts.Get(uint64(pushed)).layout {
			t.Errorf("command %d: %+v", i, c)
		}
	}
	for i, offset := range []uint64{16, 16, 16, 32, 16, 32} {
		if infos[i] != (descriptor.Descriptor{Buffer: buffer, Offset: offset, Range: 32}) {
			t.Errorf("write %d: %+v", i, infos[i])
		}
	}

	data.first.Buffer, data.more[0].info.Buffer = buffer, buffer
	r.result(commands.CreateDescriptorUpdateTemplate(r.d.handle, &info, nil, &template), vk.SUCCESS)
	write := func(change func(*vk.WriteDescriptorSet)) func() {
		w := writes[0]
		change(&w)
		return func() { commands.CmdPushDescriptorSet(h, point, layout, 1, 1, &w) }
	}
	for _, c := range []struct {
		vuid string
		call func()
	}{
		{"VUID-vkCmdPushDescriptorSet-descriptorWriteCount-arraylength",
			func() { commands.CmdPushDescriptorSet(h, point, layout, 1, 0, &writes[0]) }},
		{"VUID-vkCmdPushDescriptorSet-layout-parameter",
			func() { commands.CmdPushDescriptorSet(h, point, 0xdead, 1, 1, &writes[0]) }},
		{"VUID-vkCmdPushDescriptorSet-set-00364",
			func() { commands.CmdPushDescriptorSet(h, point, layout, 2, 1, &writes[0]) }},
		{"VUID-vkCmdPushDescriptorSet-set-00365",
			func() { commands.CmdPushDescriptorSet(h, point, layout, 0, 1, &writes[0]) }},
		{"VUID-VkPushDescriptorSetInfo-set-00365", func() {
			commands.CmdPushDescriptorSet2(h, &vk.PushDescriptorSetInfo{StageFlags: stages, Layout: layout,
				DescriptorWriteCount: 1, PDescriptorWrites: &writes[0]})
		}},
		{"VUID-VkWriteDescriptorSet-descriptorCount-00317", write(func(w *vk.WriteDescriptorSet) { w.DstArrayElement = 3 })},
		{"VUID-VkWriteDescriptorSet-dstBinding-00316", write(func(w *vk.WriteDescriptorSet) { w.DstBinding = 2 })},
		{"VUID-VkWriteDescriptorSet-descriptorType-00324", write(func(w *vk.WriteDescriptorSet) { w.PBufferInfo = nil })},
		{"VUID-VkDescriptorBufferInfo-buffer-02998",
			write(func(w *vk.WriteDescriptorSet) { w.PBufferInfo = new(vk.DescriptorBufferInfo) })},
		{"VUID-vkCmdPushDescriptorSetWithTemplate-descriptorUpdateTemplate-parameter",
			func() { commands.CmdPushDescriptorSetWithTemplate(h, 0xdead, layout, 1, unsafe.Pointer(&data)) }},
		{"VUID-vkCmdPushDescriptorSetWithTemplate-descriptorUpdateTemplate-07994",
			func() { commands.CmdPushDescriptorSetWithTemplate(h, forSets, layout, 1, unsafe.Pointer(&data)) }},
		{"VUID-vkCmdPushDescriptorSetWithTemplate-set-07995",
			func() { commands.CmdPushDescriptorSetWithTemplate(h, template, layout, 0, unsafe.Pointer(&data)) }},
		{"VUID-vkCmdPushDescriptorSetWithTemplate-pData-01686",
			func() { commands.CmdPushDescriptorSetWithTemplate(h, template, layout, 1, nil) }},
		{"VUID-vkCmdPushDescriptorSetWithTemplate-layout-parameter",
			func() { commands.CmdPushDescriptorSetWithTemplate(h, template, 0xdead, 1, unsafe.Pointer(&data)) }},
	} {
		r.begin(b, 0)
		c.call()
		r.reported(c.vuid)
		if strings.HasSuffix(c.vuid, "-arraylength") { // it does nothing, and no harm
			r.result(commands.EndCommandBuffer(h), vk.SUCCESS)
			continue
		}
		r.result(commands.EndCommandBuffer(h), vk.ERROR_UNKNOWN, c.vuid)
	}
	// A template of push descriptors does not update sets.
	pool := newTestDescriptorPool(t, r.d, 0, 1, vk.DescriptorPoolSize{Type: storageBuffer, DescriptorCount: 3})
	commands.UpdateDescriptorSetWithTemplate(r.d.handle, newTestSet(t, r.d, pool, plain), template, unsafe.Pointer(&data))
	r.reported("VUID-vkUpdateDescriptorSetWithTemplate-descriptorUpdateTemplate-parameter")
	_, result := allocateSets(r.d, pool, []vk.DescriptorSetLayout{pushed})
	r.result(result, vk.ERROR_UNKNOWN, "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-00308")
	commands.DestroyDevice(r.d.handle, nil)
	takeInbox()
}
