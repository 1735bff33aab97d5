package icd

import (
	"slices"
	"testing"
	"unsafe"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// newTestLayout makes a layout of bindings with numbers 0, 1, … unless they have their own; flags are by binding.
func newTestLayout(t testing.TB, d *device, flags vk.DescriptorSetLayoutCreateFlags,
	bindings []vk.DescriptorSetLayoutBinding, each ...vk.DescriptorBindingFlags) vk.DescriptorSetLayout {
	t.Helper()
	var h vk.DescriptorSetLayout
	info := vk.DescriptorSetLayoutCreateInfo{Flags: flags, BindingCount: uint32(len(bindings)),
		PBindings: unsafe.SliceData(bindings)}
	f := vk.DescriptorSetLayoutBindingFlagsCreateInfo{
		SType: vk.STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO, BindingCount: uint32(len(each)),
		PBindingFlags: unsafe.SliceData(each),
	}
	info.PNext = unsafe.Pointer(&f)
	if r := commands.CreateDescriptorSetLayout(d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateDescriptorSetLayout: %v, %#x", r, uint64(h))
	}
	return h
}

func newTestDescriptorPool(t testing.TB, d *device, flags vk.DescriptorPoolCreateFlags, sets uint32,
	sizes ...vk.DescriptorPoolSize) vk.DescriptorPool {
	t.Helper()
	var h vk.DescriptorPool
	blocks := vk.DescriptorPoolInlineUniformBlockCreateInfo{
		SType: vk.STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO, MaxInlineUniformBlockBindings: 100,
	}
	info := vk.DescriptorPoolCreateInfo{PNext: unsafe.Pointer(&blocks), Flags: flags, MaxSets: sets,
		PoolSizeCount: uint32(len(sizes)), PPoolSizes: unsafe.SliceData(sizes)}
	if r := commands.CreateDescriptorPool(d.handle, &info, nil, &h); r != vk.SUCCESS || h == 0 {
		t.Fatalf("vkCreateDescriptorPool: %v, %#x", r, uint64(h))
	}
	return h
}

func allocateSets(d *device, pool vk.DescriptorPool, layouts []vk.DescriptorSetLayout,
	variable ...uint32) ([]vk.DescriptorSet, vk.Result) {
	out := make([]vk.DescriptorSet, len(layouts))
	for i := range out {
		out[i] = 0xdead
	}
	v := vk.DescriptorSetVariableDescriptorCountAllocateInfo{
		SType:              vk.STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
		DescriptorSetCount: uint32(len(variable)), PDescriptorCounts: unsafe.SliceData(variable),
	}
	info := vk.DescriptorSetAllocateInfo{PNext: unsafe.Pointer(&v), DescriptorPool: pool,
		DescriptorSetCount: uint32(len(layouts)), PSetLayouts: unsafe.SliceData(layouts)}
	r := commands.AllocateDescriptorSets(d.handle, &info, unsafe.SliceData(out))
	return out, r
}

func newTestSet(t testing.TB, d *device, pool vk.DescriptorPool, layout vk.DescriptorSetLayout) vk.DescriptorSet {
	t.Helper()
	sets, r := allocateSets(d, pool, []vk.DescriptorSetLayout{layout})
	if r != vk.SUCCESS {
		t.Fatalf("vkAllocateDescriptorSets: %v", r)
	}
	return sets[0]
}

func at(h vk.DescriptorSet, binding, element uint32) descriptor.Descriptor {
	s := descriptorSets.Get(uint64(h))
	if s == nil {
		return descriptor.Descriptor{}
	}
	d, ok := s.set.At(binding, element)
	if !ok {
		return descriptor.Descriptor{}
	}
	return *d
}

func newTestBuffer(t *testing.T, d *device, size uint64, usage vk.BufferUsageFlags) vk.Buffer {
	t.Helper()
	var h vk.Buffer
	if r := commands.CreateBuffer(d.handle, &vk.BufferCreateInfo{Size: size, Usage: usage}, nil, &h); r != vk.SUCCESS {
		t.Fatalf("vkCreateBuffer: %v", r)
	}
	return h
}

const (
	uniformBuffer = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER
	storageBuffer = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER
	inlineBlock   = vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
)

func TestDescriptorPools(t *testing.T) {
	d := syncDevice(t)
	layout := newTestLayout(t, d, 0, []vk.DescriptorSetLayoutBinding{{DescriptorType: storageBuffer, DescriptorCount: 2}})
	pool := newTestDescriptorPool(t, d, vk.DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT, 4,
		vk.DescriptorPoolSize{Type: storageBuffer, DescriptorCount: 7})
	live := descriptorSets.Len()

	// The third set fits, the fourth has not enough descriptors: none is made.
	list := []vk.DescriptorSetLayout{layout, layout, layout, layout}
	sets, r := allocateSets(d, pool, list)
	wantResult(t, "four sets", r, vk.ERROR_OUT_OF_POOL_MEMORY)
	if !slices.Equal(sets, make([]vk.DescriptorSet, 4)) || descriptorSets.Len() != live {
		t.Errorf("sets %#x after a failure, %d live", sets, descriptorSets.Len()-live)
	}
	if list := takeInbox(); len(list) != 1 || list[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT {
		t.Errorf("an empty pool is reported as %+v", list)
	}
	sets, r = allocateSets(d, pool, list[:3])
	wantResult(t, "three sets", r, vk.SUCCESS)
	named := cString("a set")
	commands.SetDebugUtilsObjectNameEXT(d.handle,
		&vk.DebugUtilsObjectNameInfoEXT{ObjectType: vk.OBJECT_TYPE_DESCRIPTOR_SET, ObjectHandle: uint64(sets[1]),
			PObjectName: named})
	wantResult(t, "vkFreeDescriptorSets", commands.FreeDescriptorSets(d.handle, pool, 2,
		&[]vk.DescriptorSet{sets[1], 0}[0]), vk.SUCCESS)
	if name := d.physical.instance.nameOf(object{vk.OBJECT_TYPE_DESCRIPTOR_SET, uint64(sets[1])}); name != "" {
		t.Errorf("a freed set is still called %q", name)
	}
	again := newTestSet(t, d, pool, layout)
	wantReports(t, "within the rules")

	wantResult(t, "free twice", commands.FreeDescriptorSets(d.handle, pool, 1, &sets[1]), vk.ERROR_UNKNOWN)
	other := newTestDescriptorPool(t, d, 0, 1)
	wantResult(t, "free in another pool", commands.FreeDescriptorSets(d.handle, other, 1, &again), vk.ERROR_UNKNOWN)
	wantReports(t, "vkFreeDescriptorSets", "VUID-vkFreeDescriptorSets-pDescriptorSets-00310",
		"VUID-vkFreeDescriptorSets-pDescriptorSets-parent")
	_, r = allocateSets(d, pool, []vk.DescriptorSetLayout{0xdead})
	wantResult(t, "no layout", r, vk.ERROR_UNKNOWN)
	_, r = allocateSets(d, 0xdead, list[:1])
	wantResult(t, "no pool", r, vk.ERROR_UNKNOWN)
	_, r = allocateSets(d, pool, list[:1], 1, 2)
	wantResult(t, "counts for other sets", r, vk.ERROR_UNKNOWN)
	wantReports(t, "vkAllocateDescriptorSets", "VUID-VkDescriptorSetAllocateInfo-pSetLayouts-parameter",
		"VUID-VkDescriptorSetAllocateInfo-descriptorPool-parameter",
		"VUID-VkDescriptorSetVariableDescriptorCountAllocateInfo-descriptorSetCount-03045")

	wantResult(t, "vkResetDescriptorPool", commands.ResetDescriptorPool(d.handle, pool, 0), vk.SUCCESS)
	if descriptorSets.Len() != live {
		t.Errorf("%d sets outlive the reset", descriptorSets.Len()-live)
	}
	_, r = allocateSets(d, pool, list[:3])
	wantResult(t, "after the reset", r, vk.SUCCESS)
	commands.DestroyDescriptorPool(d.handle, pool, nil)
	commands.DestroyDescriptorPool(d.handle, 0, nil)
	if descriptorSets.Len() != live {
		t.Errorf("%d sets outlive their pool", descriptorSets.Len()-live)
	}
	commands.DestroyDescriptorSetLayout(d.handle, layout, nil)
	commands.DestroyDescriptorSetLayout(d.handle, layout, nil)
	commands.DestroyDescriptorPool(d.handle, pool, nil)
	wantResult(t, "reset of no pool", commands.ResetDescriptorPool(d.handle, pool, 0), vk.ERROR_UNKNOWN)
	wantReports(t, "destroyed twice", "VUID-vkDestroyDescriptorSetLayout-descriptorSetLayout-parameter",
		"VUID-vkDestroyDescriptorPool-descriptorPool-parameter", "VUID-vkResetDescriptorPool-descriptorPool-parameter")
}

func TestDescriptorsLeftToTheDevice(t *testing.T) {
	d := syncDevice(t)
	layouts, pools, sets, templates := descriptorSetLayouts.Len(), descriptorPools.Len(), descriptorSets.Len(),
		descriptorUpdateTemplates.Len()
	layout := newTestLayout(t, d, 0, nil)
	newTestSet(t, d, newTestDescriptorPool(t, d, 0, 1), layout)
	var template vk.DescriptorUpdateTemplate
	info := vk.DescriptorUpdateTemplateCreateInfo{DescriptorSetLayout: layout}
	wantResult(t, "vkCreateDescriptorUpdateTemplate",
		commands.CreateDescriptorUpdateTemplate(d.handle, &info, nil, &template), vk.SUCCESS)
	takeInbox()
	commands.DestroyDevice(d.handle, nil)
	wantReports(t, "vkDestroyDevice", slices.Repeat([]string{"VUID-vkDestroyDevice-device-05137"}, 3)...)
	if descriptorSetLayouts.Len() != layouts || descriptorPools.Len() != pools || descriptorSets.Len() != sets ||
		descriptorUpdateTemplates.Len() != templates {
		t.Error("descriptors outlive their device")
	}
}

func TestUpdateDescriptorSets(t *testing.T) {
	d := syncDevice(t)
	sampler := vk.Sampler(d.add(&sampler{child: child{device: d}}))
	layout := newTestLayout(t, d, 0, []vk.DescriptorSetLayoutBinding{
		{Binding: 0, DescriptorType: storageBuffer, DescriptorCount: 2},
		{Binding: 1, DescriptorType: storageBuffer, DescriptorCount: 1},
		{Binding: 2, DescriptorType: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, DescriptorCount: 1,
			PImmutableSamplers: &sampler},
		{Binding: 3, DescriptorType: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, DescriptorCount: 1},
		{Binding: 4, DescriptorType: inlineBlock, DescriptorCount: 16},
		{Binding: 5, DescriptorType: uniformBuffer, DescriptorCount: 1, PImmutableSamplers: &sampler}, // ignored
		{Binding: 6, DescriptorType: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 1},
	})
	pool := newTestDescriptorPool(t, d, 0, 9,
		vk.DescriptorPoolSize{Type: storageBuffer, DescriptorCount: 9},
		vk.DescriptorPoolSize{Type: uniformBuffer, DescriptorCount: 9},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, DescriptorCount: 9},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, DescriptorCount: 9},
		vk.DescriptorPoolSize{Type: inlineBlock, DescriptorCount: 64},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 9})
	one, two := newTestSet(t, d, pool, layout), newTestSet(t, d, pool, layout)
	b := newTestBuffer(t, d, 256,
		vk.BUFFER_USAGE_STORAGE_BUFFER_BIT|vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT|vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT)
	transfer := newTestBuffer(t, d, 256, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
	var view vk.BufferView
	wantResult(t, "vkCreateBufferView", commands.CreateBufferView(d.handle,
		&vk.BufferViewCreateInfo{Buffer: b, Format: vk.FORMAT_R32_UINT, Range: 64}, nil, &view), vk.SUCCESS)

	buffers := []vk.DescriptorBufferInfo{{Buffer: b, Offset: 16, Range: 32}, {Buffer: b, Range: vk.WHOLE_SIZE}}
	bytes := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	block := vk.WriteDescriptorSetInlineUniformBlock{SType: vk.STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
		DataSize: 8, PData: unsafe.Pointer(&bytes[0])}
	writes := []vk.WriteDescriptorSet{
		{DstSet: one, DstArrayElement: 1, DescriptorCount: 2, DescriptorType: storageBuffer, PBufferInfo: &buffers[0]},
		{DstSet: one, DstBinding: 3, DescriptorCount: 1, DescriptorType: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
			PTexelBufferView: &view},
		{DstSet: two, DstBinding: 4, DstArrayElement: 4, DescriptorCount: 8, DescriptorType: inlineBlock,
			PNext: unsafe.Pointer(&block)},
		{DstSet: one, DstBinding: 5, DescriptorCount: 1, DescriptorType: uniformBuffer, PBufferInfo: &buffers[1]},
	}
	copies := []vk.CopyDescriptorSet{
		{SrcSet: one, SrcArrayElement: 1, DstSet: two, DstArrayElement: 0, DescriptorCount: 2}, // what has just been written
		{SrcSet: two, SrcBinding: 4, SrcArrayElement: 4, DstSet: one, DstBinding: 4, DescriptorCount: 8},
	}
	takeInbox()
	commands.UpdateDescriptorSets(d.handle, uint32(len(writes)), &writes[0], uint32(len(copies)), &copies[0])
	wantReports(t, "vkUpdateDescriptorSets")
	for _, c := range []struct {
		set              vk.DescriptorSet
		binding, element uint32
		want             descriptor.Descriptor
	}{
		{one, 0, 0, descriptor.Descriptor{}},
		{one, 0, 1, descriptor.Descriptor{Buffer: b, Offset: 16, Range: 32}},
		{one, 1, 0, descriptor.Descriptor{Buffer: b, Range: vk.WHOLE_SIZE}},
		{one, 2, 0, descriptor.Descriptor{Sampler: sampler}},
		{one, 3, 0, descriptor.Descriptor{BufferView: view}},
		{one, 5, 0, descriptor.Descriptor{Buffer: b, Range: vk.WHOLE_SIZE}},
		{two, 0, 0, descriptor.Descriptor{Buffer: b, Offset: 16, Range: 32}},
		{two, 0, 1, descriptor.Descriptor{Buffer: b, Range: vk.WHOLE_SIZE}},
		{two, 1, 0, descriptor.Descriptor{}},
	} {
		if got := at(c.set, c.binding, c.element); got != c.want {
			t.Errorf("binding %d, element %d: %+v, want %+v", c.binding, c.element, got, c.want)
		}
	}
	if got := descriptorSets.Get(uint64(one)).set.Inline(4); !slices.Equal(got[:8], bytes) {
		t.Errorf("inline uniform block %v", got)
	}

	// A buffer without the usage works, with a warning for each usage.
	for _, w := range []struct {
		rule    vk.VUID
		binding uint32
		kind    vk.DescriptorType
	}{
		{vk.VUID_VkWriteDescriptorSet_descriptorType_00331, 0, storageBuffer},
		{vk.VUID_VkWriteDescriptorSet_descriptorType_00330, 5, uniformBuffer},
	} {
		write := vk.WriteDescriptorSet{DstSet: one, DstBinding: w.binding, DescriptorCount: 1, DescriptorType: w.kind,
			PBufferInfo: &vk.DescriptorBufferInfo{Buffer: transfer, Range: 16}}
		for _, want := range []int{1, 0} {
			commands.UpdateDescriptorSets(d.handle, 1, &write, 0, nil)
			list := takeInbox()
			if len(list) != want || want == 1 && (list[0].id != w.rule.String() ||
				list[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) {
				t.Errorf("%v: %+v, want %d warnings", w.rule, list, want)
			}
		}
		if got := at(one, w.binding, 0); got != (descriptor.Descriptor{Buffer: transfer, Range: 16}) {
			t.Errorf("%v: %+v", w.rule, got)
		}
	}

	// Each of these is refused and changes nothing; the last is made although the others are not.
	info := func(buffer vk.Buffer, offset, size uint64) *vk.DescriptorBufferInfo {
		return &vk.DescriptorBufferInfo{Buffer: buffer, Offset: offset, Range: size}
	}
	nothing := vk.BufferView(0)
	stale := vk.BufferView(0xdead)
	noView, staleView := vk.DescriptorImageInfo{}, vk.DescriptorImageInfo{ImageView: 0xdead}
	short := vk.WriteDescriptorSetInlineUniformBlock{SType: vk.STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
		DataSize: 4, PData: unsafe.Pointer(&bytes[0])}
	texel, combined := vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
	wrong := []struct {
		vuid string
		w    vk.WriteDescriptorSet
	}{
		{"VUID-VkWriteDescriptorSet-descriptorType-00319",
			vk.WriteDescriptorSet{DescriptorType: uniformBuffer, PBufferInfo: info(b, 0, 16)}},
		{"VUID-VkWriteDescriptorSet-dstBinding-00316",
			vk.WriteDescriptorSet{DstBinding: 9, DescriptorType: storageBuffer, PBufferInfo: info(b, 0, 16)}},
		{"VUID-VkWriteDescriptorSet-descriptorType-00324", vk.WriteDescriptorSet{DescriptorType: storageBuffer}},
		{"VUID-VkDescriptorBufferInfo-buffer-parameter",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(0xdead, 0, 16)}},
		{"VUID-VkDescriptorBufferInfo-buffer-02998",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(0, 0, vk.WHOLE_SIZE)}},
		{"VUID-VkDescriptorBufferInfo-offset-00340",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(b, 256, 16)}},
		{"VUID-VkWriteDescriptorSet-descriptorType-00328",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(b, 2, 16)}},
		{"VUID-VkWriteDescriptorSet-descriptorType-00327",
			vk.WriteDescriptorSet{DstBinding: 5, DescriptorType: uniformBuffer, PBufferInfo: info(b, 2, 16)}},
		{"VUID-VkDescriptorBufferInfo-range-00341",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(b, 0, 0)}},
		{"VUID-VkDescriptorBufferInfo-range-00342",
			vk.WriteDescriptorSet{DescriptorType: storageBuffer, PBufferInfo: info(b, 16, 256)}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02995",
			vk.WriteDescriptorSet{DstBinding: 3, DescriptorType: texel, PTexelBufferView: &nothing}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02994",
			vk.WriteDescriptorSet{DstBinding: 3, DescriptorType: texel, PTexelBufferView: &stale}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02997",
			vk.WriteDescriptorSet{DstBinding: 2, DescriptorType: combined, PImageInfo: &noView}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02996",
			vk.WriteDescriptorSet{DstBinding: 2, DescriptorType: combined, PImageInfo: &staleView}},
		{"VUID-VkWriteDescriptorSet-descriptorType-00325",
			vk.WriteDescriptorSet{DstBinding: 6, DescriptorType: vk.DESCRIPTOR_TYPE_SAMPLER, PImageInfo: &noView}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02221", vk.WriteDescriptorSet{DstBinding: 4, DescriptorType: inlineBlock}},
		{"VUID-VkWriteDescriptorSet-descriptorType-02221",
			vk.WriteDescriptorSet{DstBinding: 4, DescriptorType: inlineBlock, PNext: unsafe.Pointer(&short)}},
		{"VUID-VkWriteDescriptorSet-descriptorType-parameter",
			vk.WriteDescriptorSet{DescriptorType: vk.DESCRIPTOR_TYPE_MUTABLE_EXT}},
	}
	writes = writes[:0]
	var vuids []string
	for _, w := range wrong {
		w.w.DstSet, w.w.DescriptorCount = two, 1
		writes, vuids = append(writes, w.w), append(vuids, w.vuid)
	}
	writes = append(writes, vk.WriteDescriptorSet{DstSet: two, DstBinding: 1, DescriptorCount: 1,
		DescriptorType: storageBuffer, PBufferInfo: info(b, 0, 64)})
	copies = []vk.CopyDescriptorSet{
		{SrcSet: one, SrcBinding: 3, DstSet: two, DescriptorCount: 1},
	}
	vuids = append(vuids, "VUID-VkCopyDescriptorSet-dstBinding-02632")
	commands.UpdateDescriptorSets(d.handle, uint32(len(writes)), &writes[0], uint32(len(copies)), &copies[0])
	wantReports(t, "broken rules", vuids...)
	for i, want := range []descriptor.Descriptor{{Buffer: b, Offset: 16, Range: 32}, {Sampler: sampler}, {}, {}} {
		if got := at(two, []uint32{0, 2, 3, 5}[i], 0); got != want {
			t.Errorf("after broken rules: %+v, want %+v", got, want)
		}
	}
	if got := at(two, 1, 0); got != (descriptor.Descriptor{Buffer: b, Range: 64}) {
		t.Errorf("the write behind broken ones: %+v", got)
	}

	// With the feature, nothing may be what a descriptor names.
	d.features["nullDescriptor"] = true
	writes = []vk.WriteDescriptorSet{
		{DstSet: two, DescriptorCount: 1, DescriptorType: storageBuffer, PBufferInfo: info(0, 0, vk.WHOLE_SIZE)},
		{DstSet: two, DstBinding: 2, DescriptorCount: 1, DescriptorType: combined, PImageInfo: &noView},
		{DstSet: two, DstBinding: 3, DescriptorCount: 1, DescriptorType: texel, PTexelBufferView: &nothing},
	}
	commands.UpdateDescriptorSets(d.handle, 3, &writes[0], 0, nil)
	wantReports(t, "null descriptors")
	if got := at(two, 0, 0); got.Buffer != 0 {
		t.Errorf("a null descriptor is %+v", got)
	}
	commands.DestroyBufferView(d.handle, view, nil)
	commands.DestroyBuffer(d.handle, b, nil)
	commands.DestroyBuffer(d.handle, transfer, nil)
}

func TestUpdateTemplates(t *testing.T) {
	d := syncDevice(t)
	layout := newTestLayout(t, d, 0, []vk.DescriptorSetLayoutBinding{
		{Binding: 0, DescriptorType: storageBuffer, DescriptorCount: 2},
		{Binding: 1, DescriptorType: storageBuffer, DescriptorCount: 1},
		{Binding: 2, DescriptorType: inlineBlock, DescriptorCount: 8},
	})
	pool := newTestDescriptorPool(t, d, 0, 1, vk.DescriptorPoolSize{Type: storageBuffer, DescriptorCount: 3},
		vk.DescriptorPoolSize{Type: inlineBlock, DescriptorCount: 8})
	set := newTestSet(t, d, pool, layout)
	b := newTestBuffer(t, d, 256, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	type element struct {
		before uint64
		info   vk.DescriptorBufferInfo
	}
	var data struct {
		odd      byte
		block    [8]byte // not aligned
		elements [3]element
	}
	for i := range data.elements {
		data.elements[i].info = vk.DescriptorBufferInfo{Buffer: b, Offset: uint64(16 * i), Range: 16}
	}
	data.block = [8]byte{8, 7, 6, 5, 4, 3, 2, 1}
	entries := []vk.DescriptorUpdateTemplateEntry{
		{DstBinding: 0, DescriptorCount: 3, DescriptorType: storageBuffer, Offset: unsafe.Offsetof(data.elements) + 8,
			Stride: unsafe.Sizeof(element{})},
		{DstBinding: 2, DescriptorCount: 8, DescriptorType: inlineBlock, Offset: 1, Stride: 1000},
	}
	var h vk.DescriptorUpdateTemplate
	info := vk.DescriptorUpdateTemplateCreateInfo{DescriptorUpdateEntryCount: 2, PDescriptorUpdateEntries: &entries[0],
		DescriptorSetLayout: layout}
	wantResult(t, "vkCreateDescriptorUpdateTemplate", commands.CreateDescriptorUpdateTemplate(d.handle, &info, nil, &h),
		vk.SUCCESS)
	takeInbox()
	commands.UpdateDescriptorSetWithTemplate(d.handle, set, h, unsafe.Pointer(&data))
	wantReports(t, "vkUpdateDescriptorSetWithTemplate")
	for i := range uint32(3) {
		if got := at(set, i/2, i%2); got != (descriptor.Descriptor{Buffer: b, Offset: uint64(16 * i), Range: 16}) {
			t.Errorf("descriptor %d: %+v", i, got)
		}
	}
	if got := descriptorSets.Get(uint64(set)).set.Inline(2); !slices.Equal(got, data.block[:]) {
		t.Errorf("inline uniform block %v", got)
	}

	data.elements[1].info.Buffer = 0xdead
	commands.UpdateDescriptorSetWithTemplate(d.handle, set, h, unsafe.Pointer(&data))
	commands.UpdateDescriptorSetWithTemplate(d.handle, 0xdead, h, unsafe.Pointer(&data))
	commands.UpdateDescriptorSetWithTemplate(d.handle, set, 0xdead, unsafe.Pointer(&data))
	wantReports(t, "broken rules", "VUID-VkDescriptorBufferInfo-buffer-parameter",
		"VUID-vkUpdateDescriptorSetWithTemplate-descriptorSet-parameter",
		"VUID-vkUpdateDescriptorSetWithTemplate-descriptorUpdateTemplate-parameter")
	if at(set, 0, 1).Buffer != b {
		t.Error("a stale buffer was written")
	}
	for vuid, change := range map[string]func(){
		"VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00350":     func() { info.DescriptorSetLayout = 0xdead },
		"VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-parameter": func() { info.TemplateType = 9 },
		"VUID-VkDescriptorUpdateTemplateEntry-descriptorType-parameter": func() {
			entries[1].DescriptorType = vk.DESCRIPTOR_TYPE_MUTABLE_EXT
		},
	} {
		before, first := info, entries[1]
		change()
		none := vk.DescriptorUpdateTemplate(1)
		wantResult(t, vuid, commands.CreateDescriptorUpdateTemplate(d.handle, &info, nil, &none), vk.ERROR_UNKNOWN)
		wantReports(t, vuid, vuid)
		if none != 0 {
			t.Errorf("%s: a handle %#x", vuid, uint64(none))
		}
		info, entries[1] = before, first
	}
	commands.DestroyDescriptorUpdateTemplate(d.handle, h, nil)
	commands.DestroyDescriptorUpdateTemplate(d.handle, 0, nil)
	commands.DestroyDescriptorUpdateTemplate(d.handle, h, nil)
	wantReports(t, "destroyed twice", "VUID-vkDestroyDescriptorUpdateTemplate-descriptorUpdateTemplate-parameter")
	commands.DestroyBuffer(d.handle, b, nil)
}

func TestDescriptorSetLayouts(t *testing.T) {
	d := syncDevice(t)
	const late, variable = vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT
	bindings := []vk.DescriptorSetLayoutBinding{
		{Binding: 9, DescriptorType: storageBuffer, DescriptorCount: 100}, // the last one, although it is given first
		{Binding: 2, DescriptorType: uniformBuffer, DescriptorCount: 1},
	}
	layout := newTestLayout(t, d, vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT, bindings, late|variable, 0)
	pool := newTestDescriptorPool(t, d, vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT, 3,
		vk.DescriptorPoolSize{Type: storageBuffer, DescriptorCount: 7},
		vk.DescriptorPoolSize{Type: uniformBuffer, DescriptorCount: 9})
	sets, r := allocateSets(d, pool, []vk.DescriptorSetLayout{layout, layout}, 5, 2)
	wantResult(t, "vkAllocateDescriptorSets", r, vk.SUCCESS)
	sets = append(sets, newTestSet(t, d, pool, layout)) // no count is 0
	for i, want := range []uint32{5, 2, 0} {
		if got := descriptorSets.Get(uint64(sets[i])).set.Count(9); got != want {
			t.Errorf("set %d has %d elements, want %d", i, got, want)
		}
	}

	flags := []vk.DescriptorBindingFlags{variable, 0}
	f := vk.DescriptorSetLayoutBindingFlagsCreateInfo{
		SType: vk.STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO, BindingCount: 2, PBindingFlags: &flags[0],
	}
	info := vk.DescriptorSetLayoutCreateInfo{PNext: unsafe.Pointer(&f), BindingCount: 2, PBindings: &bindings[0]}
	count := vk.DescriptorSetVariableDescriptorCountLayoutSupport{
		SType: vk.STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT,
	}
	support := vk.DescriptorSetLayoutSupport{PNext: unsafe.Pointer(&count)}
	ask := func() (bool, uint32) {
		support.Supported, count.MaxVariableDescriptorCount = 7, 7
		commands.GetDescriptorSetLayoutSupport(d.handle, &info, &support)
		return support.Supported == vk.TRUE, count.MaxVariableDescriptorCount
	}
	if ok, n := ask(); !ok || n != 0 {
		t.Errorf("without the feature: %v, %d", ok, n)
	}
	d.features["descriptorBindingVariableDescriptorCount"] = true
	if ok, n := ask(); !ok || n != descriptor.MaxDescriptors-1 {
		t.Errorf("a variable count: %v, %d", ok, n)
	}
	bindings[0].DescriptorType, bindings[0].DescriptorCount = inlineBlock, 0
	if ok, n := ask(); !ok || n != descriptor.MaxInlineBytes {
		t.Errorf("a variable inline uniform block: %v, %d", ok, n)
	}
	flags[0] = 0
	if ok, n := ask(); !ok || n != 0 {
		t.Errorf("no variable count: %v, %d", ok, n)
	}
	takeInbox()
	bindings[1].DescriptorCount = descriptor.MaxDescriptors + 1
	if ok, _ := ask(); ok {
		t.Error("more descriptors than a set may have are supported")
	}
	wantReports(t, "a layout that is too large")
	bindings[1].Binding = bindings[0].Binding
	if ok, _ := ask(); ok {
		t.Error("two bindings of one number are supported")
	}
	var h vk.DescriptorSetLayout
	wantResult(t, "two bindings of one number", commands.CreateDescriptorSetLayout(d.handle, &info, nil, &h),
		vk.ERROR_UNKNOWN)
	f.BindingCount = 1
	wantResult(t, "flags for other bindings", commands.CreateDescriptorSetLayout(d.handle, &info, nil, &h),
		vk.ERROR_UNKNOWN)
	wantReports(t, "broken rules", "VUID-VkDescriptorSetLayoutCreateInfo-binding-00279",
		"VUID-VkDescriptorSetLayoutCreateInfo-binding-00279",
		"VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-bindingCount-03002")
}

// Required minima of the chapter "Limits" for devices with the features of descriptor indexing, inline uniform blocks
// and push descriptors.
func TestDescriptorProperties(t *testing.T) {
	i := testInstance(t, nil)
	chain, structs := chainOf(t, []vk.StructureType{
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_PROPERTIES,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_PROPERTIES_EXT,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
	}, 0xaa)
	out := vk.PhysicalDeviceProperties2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, PNext: chain}
	commands.GetPhysicalDeviceProperties2(i.devices[0].handle, &out)
	late := propertiesOf[vk.PhysicalDeviceDescriptorIndexingProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_PROPERTIES)
	l := &out.Properties.Limits
	for name, pair := range map[string][2]uint32{ // what is updated after bind, and the same without
		"samplers":         {late.MaxPerStageDescriptorUpdateAfterBindSamplers, l.MaxPerStageDescriptorSamplers},
		"uniform buffers":  {late.MaxPerStageDescriptorUpdateAfterBindUniformBuffers, l.MaxPerStageDescriptorUniformBuffers},
		"storage buffers":  {late.MaxPerStageDescriptorUpdateAfterBindStorageBuffers, l.MaxPerStageDescriptorStorageBuffers},
		"sampled images":   {late.MaxPerStageDescriptorUpdateAfterBindSampledImages, l.MaxPerStageDescriptorSampledImages},
		"storage images":   {late.MaxPerStageDescriptorUpdateAfterBindStorageImages, l.MaxPerStageDescriptorStorageImages},
		"resources":        {late.MaxPerStageUpdateAfterBindResources, l.MaxPerStageResources},
		"samplers of sets": {late.MaxDescriptorSetUpdateAfterBindSamplers, l.MaxDescriptorSetSamplers},
		"uniform of sets":  {late.MaxDescriptorSetUpdateAfterBindUniformBuffers, l.MaxDescriptorSetUniformBuffers},
		"storage of sets":  {late.MaxDescriptorSetUpdateAfterBindStorageBuffers, l.MaxDescriptorSetStorageBuffers},
		"images of sets":   {late.MaxDescriptorSetUpdateAfterBindSampledImages, l.MaxDescriptorSetSampledImages},
	} {
		if pair[0] < 500000 || pair[0] < pair[1] {
			t.Errorf("%s: %d after bind, %d without", name, pair[0], pair[1])
		}
	}
	if late.MaxUpdateAfterBindDescriptorsInAllPools < 500000 ||
		late.MaxDescriptorSetUpdateAfterBindUniformBuffersDynamic < l.MaxDescriptorSetUniformBuffersDynamic ||
		late.MaxDescriptorSetUpdateAfterBindStorageBuffersDynamic < l.MaxDescriptorSetStorageBuffersDynamic {
		t.Errorf("%+v", late)
	}
	blocks := propertiesOf[vk.PhysicalDeviceInlineUniformBlockProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_PROPERTIES)
	v13 := propertiesOf[vk.PhysicalDeviceVulkan13Properties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES)
	if blocks.MaxInlineUniformBlockSize < 256 || blocks.MaxPerStageDescriptorInlineUniformBlocks < 4 ||
		blocks.MaxDescriptorSetInlineUniformBlocks < 4 ||
		v13.MaxInlineUniformTotalSize < 256 {
		t.Errorf("%+v, total %d", blocks, v13.MaxInlineUniformTotalSize)
	}
	if n := propertiesOf[vk.PhysicalDevicePushDescriptorProperties](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES).MaxPushDescriptors; n < 32 {
		t.Errorf("maxPushDescriptors %d", n)
	}
	robust := propertiesOf[vk.PhysicalDeviceRobustness2PropertiesKHR](structs,
		vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_PROPERTIES_EXT)
	if s, u := robust.RobustStorageBufferAccessSizeAlignment,
		robust.RobustUniformBufferAccessSizeAlignment; s != 1 && s != 4 || u == 0 || u > 256 || u&(u-1) != 0 {
		t.Errorf("%+v", robust)
	}
}
