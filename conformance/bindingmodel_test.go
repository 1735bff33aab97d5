package conformance

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A bindingKind is a type of descriptors, and what a shader of conformance/shaders/binding does to read one.
type bindingKind struct {
	name  string
	t     vk.DescriptorType
	kind  int // KIND in read.comp
	unit  int // elements of the binding that one descriptor is: the bytes of an inline uniform block
	needs []string
}

var bindingKinds = []bindingKind{
	{name: "uniform_buffer", t: vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, kind: 0, unit: 1},
	{name: "storage_buffer", t: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, kind: 1, unit: 1},
	{name: "uniform_buffer_dynamic", t: vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, kind: 0, unit: 1},
	{name: "storage_buffer_dynamic", t: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, kind: 1, unit: 1},
	{name: "uniform_texel_buffer", t: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kind: 2, unit: 1},
	{name: "storage_texel_buffer", t: vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, kind: 3, unit: 1},
	{name: "inline_uniform_block", t: vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, kind: 4, unit: 16,
		needs: []string{"InlineUniformBlock"}},
	{name: "sampled_image", t: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, kind: 5, unit: 1},
	{name: "combined_image_sampler", t: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, kind: 6, unit: 1},
	{name: "storage_image", t: vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, kind: 7, unit: 1},
}

func (k *bindingKind) dynamic() bool {
	return k.t == vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || k.t == vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
}

// things are what descriptors name: 16 bytes of a buffer each, a view of them, or an image, whose first word is their
// value.
type things struct {
	c       *Case
	values  []uint32
	infos   [][]byte // what describes a descriptor of each
	offsets []uint32 // dynamic ones
	frees   []func()
}

// pitch is how far the ranges of things are apart in their buffer, a multiple of all alignments that a device may ask
// for.
const pitch = 256

func words(list ...uint64) (b []byte) {
	for _, w := range list {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// things makes n of them with values from seed on.
func (c *Case) things(k *bindingKind, n int, seed uint64) *things {
	t := &things{c: c, values: random32(n, seed)}
	switch k.t {
	case vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
		for _, v := range t.values {
			t.infos = append(t.infos, words(uint64(v), 0))
		}
	case vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_STORAGE_IMAGE:
		sampler := uint64(0)
		if k.t == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER {
			s := c.nearest()
			t.frees = append(t.frees, func() { c.dev.Call("vkDestroySampler", uintptr(s), 0) })
			sampler = uint64(s)
		}
		for _, v := range t.values {
			view, free := c.clearedImage(v)
			t.frees = append(t.frees, free)
			t.infos = append(t.infos, words(sampler, uint64(view), uint64(vk.IMAGE_LAYOUT_GENERAL)))
		}
	default:
		memory := make([]uint32, n*pitch/4)
		for i, v := range t.values {
			memory[i*pitch/4] = v
		}
		b := c.shaderBuffer(memory, vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT|vk.BUFFER_USAGE_STORAGE_BUFFER_BIT|
			vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT|vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT)
		t.frees = append(t.frees, b.free)
		for i := range t.values {
			offset := uint64(i * pitch)
			switch {
			case k.kind == 2 || k.kind == 3:
				v, r := c.dev.CreateBufferView(b.buffer, vk.FORMAT_R32_UINT, offset, 16)
				c.must("vkCreateBufferView", r)
				t.frees = append(t.frees, func() { c.dev.DestroyBufferView(v) })
				t.infos = append(t.infos, words(uint64(v)))
			case k.dynamic():
				t.offsets = append(t.offsets, uint32(offset))
				t.infos = append(t.infos, words(uint64(b.buffer), 0, 16))
			default:
				t.infos = append(t.infos, words(uint64(b.buffer), offset, 16))
			}
		}
	}
	return t
}

func (t *things) free() {
	for i := len(t.frees) - 1; i >= 0; i-- {
		t.frees[i]()
	}
}

// data describes some of the things, one behind the other.
func (t *things) data(from, to int) (b []byte) {
	for _, info := range t.infos[from:to] {
		b = append(b, info...)
	}
	return b
}

func (c *Case) nearest() vk.Sampler {
	info := vulkan.Struct[vk.SamplerCreateInfo](&c.a)
	out := vulkan.New[vk.Sampler](&c.a)
	c.must("vkCreateSampler", vk.Result(c.dev.Call("vkCreateSampler", ptr(info), 0, ptr(out))))
	return *out
}

// clearedImage is a view of an image of 4×4 texels in layout GENERAL, all of one value.
func (c *Case) clearedImage(value uint32) (vk.ImageView, func()) {
	info := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	info.ImageType, info.Format = vk.IMAGE_TYPE_2D, vk.FORMAT_R32_UINT
	info.Extent = vk.Extent3D{Width: 4, Height: 4, Depth: 1}
	info.MipLevels, info.ArrayLayers, info.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
	info.Usage = vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_STORAGE_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	img := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(img))))
	need := c.dev.ImageRequirements(*img)
	kind := uint32(0)
	for need.MemoryTypeBits>>kind&1 == 0 {
		kind++
	}
	memory := c.allocate(need.Size, kind, nil)
	c.must("vkBindImageMemory", c.dev.BindImage(*img, memory, 0))
	all := vk.ImageSubresourceRange{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LevelCount: 1, LayerCount: 1}
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		barrier := vulkan.Struct[vk.ImageMemoryBarrier](&c.a)
		barrier.DstAccessMask = vk.ACCESS_TRANSFER_WRITE_BIT
		barrier.NewLayout, barrier.Image, barrier.SubresourceRange = vk.IMAGE_LAYOUT_GENERAL, *img, all
		barrier.SrcQueueFamilyIndex, barrier.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
		c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_TOP_OF_PIPE_BIT),
			uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), 0, 0, 0, 0, 0, 1, ptr(barrier))
		color := vulkan.New[vk.ClearColorValue](&c.a)
		*(*uint32)(unsafe.Pointer(color)) = value
		c.dev.CallOn("vkCmdClearColorImage", uintptr(cb), uintptr(*img), uintptr(vk.IMAGE_LAYOUT_GENERAL), ptr(color), 1,
			ptr(vulkan.Put(&c.a, all)))
		c.dev.Barrier(cb)
	}))
	view := vulkan.New[vk.ImageView](&c.a)
	create := vulkan.Struct[vk.ImageViewCreateInfo](&c.a)
	create.Image, create.ViewType, create.Format, create.SubresourceRange = *img, vk.IMAGE_VIEW_TYPE_2D, info.Format, all
	c.must("vkCreateImageView", vk.Result(c.dev.Call("vkCreateImageView", ptr(create), 0, ptr(view))))
	return *view, func() {
		c.dev.Call("vkDestroyImageView", uintptr(*view), 0)
		c.dev.DestroyImage(*img)
		c.dev.Free(memory)
	}
}

// A readerConfig says what a reader reads, and how.
type readerConfig struct {
	k       *bindingKind
	count   int
	flags   vk.DescriptorSetLayoutCreateFlags // of set 1
	binding vk.DescriptorBindingFlags         // of the descriptors
	// the first descriptor is at a binding of its own, with an empty one behind it
	split      bool
	index      []uint32 // of the descriptors that are read, if not all in their order
	nonuniform bool     // each by another invocation
	variable   uint32   // the variable count, if binding says so
}

// A reader is a pipeline that reads descriptors at binding 3 of set 1 and writes their values to a buffer in set 0.
type reader struct {
	readerConfig
	c        *Case
	layouts  [2]vk.DescriptorSetLayout
	layout   vk.PipelineLayout
	module   vk.ShaderModule
	pipeline vk.Pipeline
	pool     vk.DescriptorPool
	sets     [2]vk.DescriptorSet // the second one not where that is pushed
	result   *shaderBuffer
	indices  *shaderBuffer
	values   []uint32
	sampler  vk.Sampler
	second   bool // binds by vkCmdBindDescriptorSets2KHR
}

const firstBinding = 3

func (c *Case) reader(config readerConfig) *reader {
	r := &reader{readerConfig: config, c: c, values: make([]uint32, config.count)}
	k, count := r.k, r.count
	define := []string{fmt.Sprint("KIND=", k.kind), fmt.Sprint("COUNT=", count), fmt.Sprint("BINDING=", firstBinding)}
	bindings := []vulkan.Binding{{Binding: firstBinding, Type: k.t, Count: uint32(count * k.unit), Flags: r.binding}}
	if r.index != nil {
		r.values = make([]uint32, len(r.index))
		define = append(define, "INDEXED")
	}
	if r.nonuniform {
		define = append(define, "NONUNIFORM")
	}
	if r.split {
		define = append(define, "SPLIT")
		bindings[0].Count = uint32(k.unit)
		bindings = append(bindings, vulkan.Binding{Binding: firstBinding + 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER},
			vulkan.Binding{Binding: firstBinding + 2, Type: k.t, Count: uint32((count - 1) * k.unit), Flags: r.binding})
	}
	own := []vulkan.Binding{{Binding: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
		{Binding: 2, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1}}
	if k.kind == 5 {
		own = append(own, vulkan.Binding{Binding: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 1})
		r.sampler = c.nearest()
	}
	var res vk.Result
	r.layouts[0], res = c.dev.CreateSetLayout(0, own...)
	c.must("vkCreateDescriptorSetLayout", res)
	r.layouts[1], res = c.dev.CreateSetLayout(r.flags, bindings...)
	c.must("vkCreateDescriptorSetLayout", res)
	r.layout, res = c.dev.CreatePipelineLayout(0, r.layouts[:]...)
	c.must("vkCreatePipelineLayout", res)
	r.module, res = c.dev.CreateShaderModule(c.compile(glsl("binding/read.comp", define...)))
	c.must("vkCreateShaderModule", res)
	r.pipeline, res = c.dev.CreateComputePipeline(vulkan.PipelineConfig{Module: r.module, Layout: r.layout})
	c.must("vkCreateComputePipelines", res)
	sizes := []vk.DescriptorPoolSize{
		{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 2}, {Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 1},
		{Type: k.t, DescriptorCount: uint32(4 * count * k.unit)},
	}
	blocks := uint32(0)
	if k.unit > 1 {
		blocks = 4
	}
	var poolFlags vk.DescriptorPoolCreateFlags
	if r.flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT != 0 {
		poolFlags = vk.DescriptorPoolCreateFlags(vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT)
	}
	r.pool, res = c.dev.CreateSizedPool(poolFlags, 3, blocks, sizes...)
	c.must("vkCreateDescriptorPool", res)
	r.sets[0] = r.allocate(r.layouts[0])
	if r.binding&vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT != 0 {
		sets, res := c.dev.AllocateVariableSets(r.pool, []uint32{r.variable}, r.layouts[1])
		c.must("vkAllocateDescriptorSets", res)
		r.sets[1] = sets[0]
	} else if !r.pushed() {
		r.sets[1] = r.allocate(r.layouts[1])
	}
	r.result = c.shaderBuffer(r.values, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	c.dev.WriteSet(r.sets[0], vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		Buffer: vk.DescriptorBufferInfo{Buffer: r.result.buffer}})
	if r.index != nil {
		r.indices = c.shaderBuffer(r.index, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
		c.dev.WriteSet(r.sets[0], vulkan.Descriptor{Binding: 2, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
			Buffer: vk.DescriptorBufferInfo{Buffer: r.indices.buffer}})
	}
	if r.sampler != 0 {
		c.dev.WriteSet(r.sets[0], vulkan.Descriptor{Binding: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER,
			Image: vk.DescriptorImageInfo{Sampler: r.sampler}})
	}
	return r
}

func (r *reader) pushed() bool {
	return r.flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0
}

func (r *reader) allocate(l vk.DescriptorSetLayout) vk.DescriptorSet {
	sets, res := r.c.dev.AllocateSets(r.pool, l)
	r.c.must("vkAllocateDescriptorSets", res)
	return sets[0]
}

func (r *reader) free() {
	r.result.free()
	if r.indices != nil {
		r.indices.free()
	}
	r.c.dev.DestroyDescriptorPool(r.pool)
	r.c.dev.DestroyPipeline(r.pipeline)
	r.c.dev.DestroyShaderModule(r.module)
	r.c.dev.DestroyPipelineLayout(r.layout)
	r.c.dev.DestroySetLayout(r.layouts[0])
	r.c.dev.DestroySetLayout(r.layouts[1])
	if r.sampler != 0 {
		r.c.dev.Call("vkDestroySampler", uintptr(r.sampler), 0)
	}
}

// write is the write of some things, from an element of a binding of set 1 on.
func (r *reader) write(t *things, binding uint32, element, from, to int) vulkan.Write {
	return vulkan.Write{Set: r.sets[1], Binding: binding, Element: uint32(element * r.k.unit),
		Count: uint32((to - from) * r.k.unit), Type: r.k.t, Data: t.data(from, to)}
}

// entry is the same of a template, with stride bytes from thing to thing.
func (r *reader) entry(t *things, binding uint32, element, from, to int, offset,
	stride int) vk.DescriptorUpdateTemplateEntry {
	return vk.DescriptorUpdateTemplateEntry{
		DstBinding: binding, DstArrayElement: uint32(element * r.k.unit), DescriptorCount: uint32((to - from) * r.k.unit),
		DescriptorType: r.k.t,
		Offset:         uintptr(offset), Stride: uintptr(stride),
	}
}

// bind records the pipeline and the sets that are not pushed.
func (r *reader) bind(cb vk.CommandBuffer, offsets []uint32) {
	r.c.dev.BindCompute(cb, r.pipeline)
	switch {
	case r.second:
		r.c.dev.BindSets2(cb, r.layout, 0, r.sets[:], offsets...)
	case r.pushed():
		r.c.dev.BindSets(cb, r.layout, 0, r.sets[:1])
	default:
		r.c.dev.BindSets(cb, r.layout, 0, r.sets[:], offsets...)
	}
}

// read dispatches once and compares. push records what is pushed.
func (r *reader) read(what string, want []uint32, offsets []uint32, push func(cb vk.CommandBuffer)) {
	clear(r.values)
	r.result.upload()
	r.c.must("submit and wait", r.c.dev.Submit(func(cb vk.CommandBuffer) {
		r.bind(cb, offsets)
		if push != nil {
			push(cb)
		}
		r.dispatch(cb)
	}))
	r.result.download()
	wantSlice(r.c, what, r.values, want)
}

// dispatch records a dispatch of what is bound.
func (r *reader) dispatch(cb vk.CommandBuffer) {
	groups := uint32(1)
	if r.nonuniform {
		groups = uint32(len(r.index)+7) / 8
	}
	r.c.dev.Dispatch(cb, groups, 1, 1)
	r.c.dev.Barrier(cb)
}

// bindingMethods are the ways in which descriptors come into a set.
var bindingMethods = []struct {
	name  string
	push  bool
	split bool
	run   func(r *reader, t *things)
}{
	{name: "write", run: func(r *reader, t *things) {
		var list []vulkan.Write
		for i := range t.infos {
			list = append(list, r.write(t, firstBinding, i, i, i+1))
		}
		r.c.dev.UpdateSets(list)
		r.read("each written alone", t.values, t.offsets, nil)
	}},
	{name: "write_array", run: func(r *reader, t *things) {
		r.c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 0, 0, r.count)})
		r.read("all written at once", t.values, t.offsets, nil)
	}},
	{name: "write_consecutive_bindings", split: true, run: func(r *reader, t *things) {
		r.c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 0, 0, r.count)})
		r.read("over three bindings", t.values, t.offsets, nil)
	}},
	{name: "copy", run: func(r *reader, t *things) {
		// The other set has more elements, at another binding.
		layout, res := r.c.dev.CreateSetLayout(r.flags,
			vulkan.Binding{Binding: 1, Type: r.k.t, Count: uint32((r.count + 2) * r.k.unit)})
		r.c.must("vkCreateDescriptorSetLayout", res)
		defer r.c.dev.DestroySetLayout(layout)
		source := r.allocate(layout)
		w := r.write(t, 1, 1, 0, r.count)
		w.Set = source
		unit := uint32(r.k.unit)
		// The copies are made after the writes.
		r.c.dev.UpdateSets([]vulkan.Write{w},
			vk.CopyDescriptorSet{SrcSet: source, SrcBinding: 1, SrcArrayElement: unit, DstSet: r.sets[1],
				DstBinding: firstBinding, DescriptorCount: unit},
			vk.CopyDescriptorSet{SrcSet: source, SrcBinding: 1, SrcArrayElement: 2 * unit, DstSet: r.sets[1],
				DstBinding: firstBinding, DstArrayElement: unit,
				DescriptorCount: uint32(r.count-1) * unit})
		r.read("copied", t.values, t.offsets, nil)
	}},
	{name: "copy_consecutive_bindings", split: true, run: func(r *reader, t *things) {
		source := r.allocate(r.layouts[1])
		w := r.write(t, firstBinding, 0, 0, r.count)
		w.Set = source
		r.c.dev.UpdateSets([]vulkan.Write{w})
		r.c.dev.UpdateSets(nil, vk.CopyDescriptorSet{SrcSet: source, SrcBinding: firstBinding, DstSet: r.sets[1],
			DstBinding: firstBinding, DescriptorCount: uint32(r.count * r.k.unit)})
		r.read("copied over three bindings", t.values, t.offsets, nil)
	}},
	{name: "template", run: func(r *reader, t *things) {
		entries, data := r.entries(t)
		template, res := r.c.dev.CreateTemplate(r.layouts[1], entries...)
		r.c.must("vkCreateDescriptorUpdateTemplate", res)
		r.c.dev.UpdateWithTemplate(r.sets[1], template, data)
		r.c.dev.DestroyTemplate(template)
		r.read("by a template", t.values, t.offsets, nil)
	}},
	{name: "push", push: true, run: func(r *reader, t *things) {
		r.read("pushed at once", t.values, nil, func(cb vk.CommandBuffer) {
			r.c.dev.PushSet(cb, r.layout, 1, r.write(t, firstBinding, 0, 0, r.count))
		})
	}},
	{name: "push_elements", push: true, run: func(r *reader, t *things) {
		r.read("pushed one after the other", t.values, nil, func(cb vk.CommandBuffer) {
			for i := range t.infos {
				r.c.dev.PushSet(cb, r.layout, 1, r.write(t, firstBinding, i, 0, 1), r.write(t, firstBinding, i, i, i+1))
			}
		})
		entries, data := r.entries(t)
		template, res := r.c.dev.CreatePushTemplate(r.layout, 1, entries...)
		r.c.must("vkCreateDescriptorUpdateTemplate", res)
		defer r.c.dev.DestroyTemplate(template)
		r.read("pushed by a template of two entries", t.values, nil, func(cb vk.CommandBuffer) {
			r.c.dev.PushWithTemplate(cb, template, r.layout, 1, data)
		})
	}},
	{name: "push_consecutive_bindings", push: true, split: true, run: func(r *reader, t *things) {
		r.read("pushed over three bindings", t.values, nil, func(cb vk.CommandBuffer) {
			r.c.dev.PushSet(cb, r.layout, 1, r.write(t, firstBinding, 0, 0, r.count))
		})
	}},
	{name: "push_template", push: true, run: func(r *reader, t *things) {
		size := len(t.infos[0])
		template, res := r.c.dev.CreatePushTemplate(r.layout, 1, r.entry(t, firstBinding, 0, 0, r.count, 0, size))
		r.c.must("vkCreateDescriptorUpdateTemplate", res)
		defer r.c.dev.DestroyTemplate(template)
		r.read("pushed by a template", t.values, nil, func(cb vk.CommandBuffer) {
			r.c.dev.PushWithTemplate(cb, template, r.layout, 1, t.data(0, r.count))
		})
	}},
}

// entries are those of a template for structures that have the first thing last, and gaps between the others.
func (r *reader) entries(t *things) ([]vk.DescriptorUpdateTemplateEntry, []byte) {
	data := make([]byte, 8)
	stride := 40
	if r.k.unit > 1 {
		stride = r.k.unit // bytes have no gaps
	}
	for _, info := range t.infos[1:] {
		data = append(append(data, info...), make([]byte, stride-len(info))...)
	}
	last := len(data)
	return []vk.DescriptorUpdateTemplateEntry{
		r.entry(t, firstBinding, 1, 1, r.count, 8, stride), r.entry(t, firstBinding, 0, 0, 1, last, 0),
	}, append(data, t.infos[0]...)
}

// bindingCases mirror binding_model.shader_access: each type of descriptor, put into sets in each way.
func bindingCases() (all []definition) {
	for _, k := range bindingKinds {
		for _, m := range bindingMethods {
			if m.push && (k.dynamic() || k.unit > 1) {
				continue // cannot be pushed
			}
			d := definition{name: "binding_model.shader_access." + m.name + "." + k.name, compute: true, valid: true,
				needs: k.needs}
			flags := vk.DescriptorSetLayoutCreateFlags(0)
			if m.push {
				flags = vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT)
				d.extensions = []string{vk.KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}
			}
			d.run = func(c *Case) {
				for count := 2; count <= 4; count++ {
					t := c.things(&k, count, uint64(count))
					r := c.reader(readerConfig{k: &k, count: count, flags: flags, split: m.split})
					m.run(r, t)
					r.free()
					t.free()
				}
			}
			all = append(all, d)
		}
	}
	return append(all, bindingSetCases()...)
}
