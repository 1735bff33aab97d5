package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// vertexBytes is a vertex: three floats and four bytes.
const vertexBytes = 16

// vertices are the triangles of a work: all of it four times, or rows of triangles, each farther than the one before.
func (k *graphicsWork) vertices() []byte {
	var data []byte
	add := func(x, y, z float64, color uint32) {
		for _, f := range []float64{x, y, z} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(f)))
		}
		data = binary.LittleEndian.AppendUint32(data, color)
	}
	if k.pixels == 0 {
		for i := range uint32(4) {
			add(-1, -1, 0.5, 0x804020ff+i)
			add(3, -1, 0.5, 0x4080ff10)
			add(-1, 3, 0.5, 0xc0ff4080)
		}
		return data
	}
	side := math.Sqrt(2 * float64(k.pixels))
	count := 2000000 / k.pixels
	if k.draws > 0 {
		count = 2
	}
	dx, dy := 2*side/targetWidth, 2*side/targetHeight
	columns := int(targetWidth / side)
	for i := range count {
		at, z := i/2, 1-float64(i)/float64(count)
		x, y := -1+dx*float64(at%columns), -1+dy*float64(at/columns%int(targetHeight/side))
		if i%2 == 0 {
			add(x, y, z, 0xff0000ff+uint32(i))
			add(x+dx, y, z, 0xff00ff00)
			add(x, y+dy, z, 0xffff0000)
			continue
		}
		add(x+dx, y, z, 0xff00ff00)
		add(x+dx, y+dy, z, 0xffffff00+uint32(i)&0xff)
		add(x, y+dy, z, 0xffff0000)
	}
	return data
}

// sampler makes a sampler.
func (b *graphicsBench) sampler(trilinear bool) (vk.Sampler, error) {
	info := vulkan.Struct[vk.SamplerCreateInfo](&b.a)
	info.MagFilter, info.MinFilter, info.MaxLod = vk.FILTER_LINEAR, vk.FILTER_LINEAR, 16
	if trilinear {
		info.MipmapMode = vk.SAMPLER_MIPMAP_MODE_LINEAR
	}
	out := vulkan.New[vk.Sampler](&b.a)
	if r := vk.Result(b.dev.Call("vkCreateSampler", address(info), 0, address(out))); r != vk.SUCCESS {
		return 0, fmt.Errorf("vkCreateSampler: %v", r)
	}
	return *out, nil
}

// pushed is the stages that have push constants, 16 bytes for each.
func (k *graphicsWork) pushed() vk.ShaderStageFlags {
	if k.shaded {
		return vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT | vk.SHADER_STAGE_FRAGMENT_BIT)
	}
	return vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT)
}

// textureSets makes sets with the four textures, each of which begins with another one, and the pipelines' layout.
func (b *graphicsBench) textureSets(k *graphicsWork) (vk.PipelineLayout, []vk.DescriptorSet, error) {
	sampler, err := b.sampler(k.trilinear)
	if err != nil {
		return 0, nil, err
	}
	n := len(b.textureView)
	binding := vulkan.Binding{Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, Count: 4,
		Stages: vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)}
	layout, r := b.dev.CreateSetLayout(0, binding)
	var pool vk.DescriptorPool
	if r == vk.SUCCESS {
		pool, r = b.dev.CreateDescriptorPool(0, uint32(n), slices.Repeat([]vulkan.Binding{binding}, n)...)
	}
	var sets []vk.DescriptorSet
	if r == vk.SUCCESS {
		sets, r = b.dev.AllocateSets(pool, slices.Repeat([]vk.DescriptorSetLayout{layout}, n)...)
	}
	var pipeline vk.PipelineLayout
	if r == vk.SUCCESS {
		pipeline, r = b.dev.CreateStagesLayout(k.pushed(), 32, layout)
	}
	if r != vk.SUCCESS {
		return 0, nil, fmt.Errorf("textures' descriptors: %v", r)
	}
	for first, set := range sets {
		for i := range n {
			b.dev.WriteSet(set, vulkan.Descriptor{Element: uint32(i), Type: binding.Type, Image: vk.DescriptorImageInfo{
				Sampler: sampler, ImageView: b.textureView[(i+first)%n], ImageLayout: vk.IMAGE_LAYOUT_GENERAL}})
		}
	}
	return pipeline, sets, nil
}

// pipeline makes a work's pipeline; more is the value of its constant.
func (b *graphicsBench) pipeline(k *graphicsWork, layout vk.PipelineLayout, more float32) (vk.Pipeline, error) {
	vertex, err := b.module("draw.vert")
	if err != nil {
		return 0, err
	}
	fragment := vk.ShaderModule(0)
	colors, depth := []vk.Format{vk.FORMAT_R8G8B8A8_UNORM}, vk.Format(vk.FORMAT_UNDEFINED)
	defines := []string{fmt.Sprint("TEXTURES=", k.textures)}
	if k.shaded {
		defines = append(defines, "SHADED=1")
	}
	if k.depthOnly {
		colors = nil
	} else if fragment, err = b.module("draw.frag", defines...); err != nil {
		return 0, err
	}
	if k.depth {
		depth = vk.FORMAT_D32_SFLOAT
	}
	g := vulkan.NewGraphicsState(&b.a, layout, vertex, fragment,
		vk.Viewport{Width: targetWidth, Height: targetHeight, MaxDepth: 1}, colors, depth, vk.FORMAT_UNDEFINED)
	g.Vertex([]vk.VertexInputBindingDescription{{Stride: vertexBytes}}, []vk.VertexInputAttributeDescription{
		{Format: vk.FORMAT_R32G32B32_SFLOAT}, {Location: 1, Format: vk.FORMAT_R8G8B8A8_UNORM, Offset: 12}})
	g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(max(k.samples, 1))
	if k.scissors {
		g.Vary(vk.DYNAMIC_STATE_SCISSOR)
	}
	if k.depth {
		g.Depth.DepthTestEnable, g.Depth.DepthWriteEnable = vk.TRUE, vk.TRUE
		g.Depth.DepthCompareOp = vk.COMPARE_OP_LESS_OR_EQUAL
	}
	if k.blend {
		a := &g.Attachments[0]
		a.BlendEnable = vk.TRUE
		a.SrcColorBlendFactor, a.DstColorBlendFactor = vk.BLEND_FACTOR_SRC_ALPHA, vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA
		a.SrcAlphaBlendFactor, a.DstAlphaBlendFactor = vk.BLEND_FACTOR_ONE, vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA
	}
	if fragment != 0 {
		entry := vulkan.Put(&b.a, vk.SpecializationMapEntry{Size: 4})
		x := vulkan.New[vk.SpecializationInfo](&b.a)
		x.MapEntryCount, x.PMapEntries = 1, entry
		x.DataSize, x.PData = 4, unsafe.Pointer(vulkan.Put(&b.a, more))
		g.Stages[1].PSpecializationInfo = x
	}
	p, r := b.dev.CreateGraphicsPipeline(g)
	if r != vk.SUCCESS {
		return 0, fmt.Errorf("vkCreateGraphicsPipelines: %v", r)
	}
	return p, nil
}

// record makes what a work needs and records it.
func (b *graphicsBench) record(k *graphicsWork, more float32) (*vk.SubmitInfo, error) {
	layout, sets, err := b.textureSets(k)
	if err != nil {
		return nil, err
	}
	pipeline, err := b.pipeline(k, layout, more)
	if err != nil {
		return nil, err
	}
	data := k.vertices()
	buffer, mapped, err := b.buffer(len(data), vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	if err != nil {
		return nil, err
	}
	copy(mapped, data)
	color := vulkan.Attachment(b.color.view)
	rendering, depth := vulkan.Rendering{Area: wholeArea()}, b.depth[0]
	color.LoadOp = vk.ATTACHMENT_LOAD_OP_CLEAR
	if k.samples > 1 {
		color.ImageView, depth = b.many.view, b.depth[1]
		color.ResolveMode, color.ResolveImageView = vk.RESOLVE_MODE_AVERAGE_BIT, b.color.view
		color.ResolveImageLayout, color.StoreOp = vk.IMAGE_LAYOUT_GENERAL, vk.ATTACHMENT_STORE_OP_DONT_CARE
	}
	if !k.depthOnly {
		rendering.Colors = append(rendering.Colors, color)
	}
	if k.depth {
		d := vulkan.Attachment(depth.view)
		d.LoadOp, d.StoreOp = vk.ATTACHMENT_LOAD_OP_CLEAR, vk.ATTACHMENT_STORE_OP_DONT_CARE
		binary.LittleEndian.PutUint32(vulkan.Bytes(unsafe.Pointer(&d.ClearValue), 4), math.Float32bits(1))
		rendering.Depth = &d
	}
	count := uintptr(len(data) / vertexBytes)
	return b.submission(func(cb vk.CommandBuffer) {
		b.dev.Render(cb, rendering, func() {
			b.dev.BindGraphics(cb, pipeline)
			b.dev.BindGraphicsSets(cb, layout, sets[:1])
			b.dev.BindVertices(cb, 0, buffer)
			for i := range max(k.draws, 1) {
				b.change(cb, k, layout, sets, i)
				b.dev.CallOn("vkCmdDraw", uintptr(cb), count, 1, 0, 0)
			}
		})
	})
}

// change records what is a draw's own.
func (b *graphicsBench) change(cb vk.CommandBuffer, k *graphicsWork, layout vk.PipelineLayout, sets []vk.DescriptorSet,
	draw int) {
	push, size := [8]float32{2: 4}, 16
	if k.draws > 0 {
		push[0], push[1] = float32(draw%64)/32, float32(draw/64)/16
	}
	if k.shaded {
		push[4], push[5], push[6], push[7] = 1, float32(draw%5)/4, float32(draw%7)/6, 1
		size = 32
	}
	b.dev.PushStages(cb, layout, k.pushed(), 0, vulkan.Bytes(unsafe.Pointer(&push), size))
	if k.sets {
		b.dev.BindGraphicsSets(cb, layout, sets[draw%len(sets):][:1])
	}
	if k.scissors {
		b.scissor.Offset = vk.Offset2D{X: int32(draw % 64 * 30), Y: int32(draw / 64 * 34)}
		b.scissor.Extent = vk.Extent2D{Width: 8, Height: 8}
		b.dev.CallOn("vkCmdSetScissor", uintptr(cb), 0, 1, address(b.scissor))
	}
}
