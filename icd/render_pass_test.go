package icd

import (
	"slices"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// graphicsTest is a queueTest whose family 0 has graphics.
func newPassTest(t testing.TB) *queueTest {
	return newQueueTest(t)
}

// attachment makes an image that is bound to host memory, and a view of all of it.
func attachmentOf(q *queueTest, info vk.ImageCreateInfo, aspects vk.ImageAspectFlags) (vk.ImageView, *image, []byte) {
	q.Helper()
	info.Usage |= vk.IMAGE_USAGE_TRANSFER_DST_BIT
	var h vk.Image
	if r := commands.CreateImage(q.d.handle, &info, nil, &h); r != vk.SUCCESS {
		q.Fatalf("vkCreateImage: %v %q", r, rules())
	}
	img := images.Get(uint64(h))
	var m vk.DeviceMemory
	allocate := vk.MemoryAllocateInfo{AllocationSize: img.size, MemoryTypeIndex: hostType(q)}
	if r := commands.AllocateMemory(q.d.handle, &allocate, nil, &m); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := commands.BindImageMemory(q.d.handle, h, m, 0); r != vk.SUCCESS {
		q.Fatal(r)
	}
	bytes, err := deviceMemories.Get(uint64(m)).payload.Bytes()
	if err != nil {
		q.Fatal(err)
	}
	view := vk.ImageViewCreateInfo{Image: h, ViewType: vk.IMAGE_VIEW_TYPE_2D_ARRAY, Format: info.Format,
		SubresourceRange: vk.ImageSubresourceRange{AspectMask: aspects, LevelCount: 1, LayerCount: info.ArrayLayers}}
	var v vk.ImageView
	if r := commands.CreateImageView(q.d.handle, &view, nil, &v); r != vk.SUCCESS {
		q.Fatalf("vkCreateImageView: %v %q", r, rules())
	}
	q.Cleanup(func() {
		commands.DestroyImageView(q.d.handle, v, nil)
		commands.DestroyImage(q.d.handle, h, nil)
		commands.FreeMemory(q.d.handle, m, nil)
	})
	return v, img, bytes
}

func hostType(q *queueTest) uint32 {
	for i, t := range q.d.physical.profile.Types {
		if t.Flags&vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT != 0 {
			return uint32(i)
		}
	}
	q.Fatal("no host memory")
	return 0
}

func colorImage(samples vk.SampleCountFlagBits) vk.ImageCreateInfo {
	info := plainImage()
	info.Tiling, info.Samples, info.Usage = vk.IMAGE_TILING_OPTIMAL, samples, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT
	return info
}

// resolvePass is the create info of a pass that clears, and resolves four samples to one.
func resolvePass() vk.RenderPassCreateInfo {
	attachments := []vk.AttachmentDescription{
		{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: vk.SAMPLE_COUNT_4_BIT, LoadOp: vk.ATTACHMENT_LOAD_OP_CLEAR},
		{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: vk.SAMPLE_COUNT_1_BIT, LoadOp: vk.ATTACHMENT_LOAD_OP_DONT_CARE},
	}
	subpass := &vk.SubpassDescription{ColorAttachmentCount: 1, PColorAttachments: &vk.AttachmentReference{Attachment: 0},
		PResolveAttachments: &vk.AttachmentReference{Attachment: 1}}
	return vk.RenderPassCreateInfo{AttachmentCount: 2, PAttachments: &attachments[0], SubpassCount: 1, PSubpasses: subpass}
}

func (q *queueTest) renderPass(info *vk.RenderPassCreateInfo) vk.RenderPass {
	q.Helper()
	var p vk.RenderPass
	if r := commands.CreateRenderPass(q.d.handle, info, nil, &p); r != vk.SUCCESS || p == 0 {
		q.Fatalf("vkCreateRenderPass: %v %q", r, rules())
	}
	q.Cleanup(func() { commands.DestroyRenderPass(q.d.handle, p, nil) })
	return p
}

func (q *queueTest) executed(list vk.CommandBuffer) {
	q.Helper()
	if r := submit1(q.d.queues[0], 0, vk.SubmitInfo{CommandBufferCount: 1, PCommandBuffers: &list}); r != vk.SUCCESS {
		q.Fatal(r)
	}
	if r := commands.DeviceWaitIdle(q.d.handle); r != vk.SUCCESS {
		q.Fatalf("%v, reported %q", r, rules())
	}
}

// TestRenderPassObjects runs a pass with a resolve through the commands, with a framebuffer of views, and with one
// without.
func TestRenderPassObjects(t *testing.T) {
	q := newPassTest(t)
	from, _, _ := attachmentOf(q, colorImage(vk.SAMPLE_COUNT_4_BIT), vk.IMAGE_ASPECT_COLOR_BIT)
	to, _, bytes := attachmentOf(q, colorImage(vk.SAMPLE_COUNT_1_BIT), vk.IMAGE_ASPECT_COLOR_BIT)
	info := resolvePass()
	p := q.renderPass(&info)
	views := []vk.ImageView{from, to}
	create := vk.FramebufferCreateInfo{RenderPass: p, AttachmentCount: 2, PAttachments: &views[0], Width: 16, Height: 16,
		Layers: 1}
	images := vk.FramebufferAttachmentsCreateInfo{SType: vk.STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO,
		AttachmentImageInfoCount: 2}
	begun := vk.RenderPassAttachmentBeginInfo{SType: vk.STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO,
		AttachmentCount: 2, PAttachments: &views[0]}
	for n, imageless := range []bool{false, true} {
		begin := vk.RenderPassBeginInfo{RenderPass: p, ClearValueCount: 1, RenderArea: vk.Rect2D{
			Offset: vk.Offset2D{X: 3, Y: 2}, Extent: vk.Extent2D{Width: 4, Height: 5}}}
		if imageless {
			create.Flags, create.PNext = vk.FRAMEBUFFER_CREATE_IMAGELESS_BIT, unsafe.Pointer(&images)
			begin.PNext = unsafe.Pointer(&begun)
		}
		if r := commands.CreateFramebuffer(q.d.handle, &create, nil, &begin.Framebuffer); r != vk.SUCCESS {
			t.Fatalf("vkCreateFramebuffer: %v %q", r, rules())
		}
		clear(bytes)
		var value vk.ClearValue
		*value.Color().Float32() = [4]float32{float32(n), 1, 0, 1}
		begin.PClearValues = &value
		list := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		record1(t, list, func() {
			commands.CmdBeginRenderPass(list, &begin, vk.SUBPASS_CONTENTS_INLINE)
			commands.CmdEndRenderPass(list)
		})
		value = vk.ClearValue{}
		q.executed(list)
		for y := range 16 {
			for x := range 16 {
				want := [4]byte{}
				if x >= 3 && x < 7 && y >= 2 && y < 7 {
					want = [4]byte{byte(n) * 255, 255, 0, 255}
				}
				if got := [4]byte(bytes[(y*16+x)*4:]); got != want {
					t.Fatalf("imageless %v: texel %d, %d is %v, want %v", imageless, x, y, got, want)
				}
			}
		}
		commands.DestroyFramebuffer(q.d.handle, begin.Framebuffer, nil)
	}
	var granularity vk.Extent2D
	commands.GetRenderAreaGranularity(q.d.handle, p, &granularity)
	if granularity != (vk.Extent2D{Width: 1, Height: 1}) {
		t.Errorf("granularity %v", granularity)
	}
	if got := rules(); len(got) != 1 || got[0] != "VUID-VkFramebufferCreateInfo-flags-03189" { // forgiven
		t.Errorf("reported %q", got)
	}
}

// TestDynamicRenderingCommands renders depths and stencils, from a secondary command buffer, too.
func TestDynamicRenderingCommands(t *testing.T) {
	q := newPassTest(t)
	info := colorImage(vk.SAMPLE_COUNT_1_BIT)
	info.Format, info.Usage = vk.FORMAT_D32_SFLOAT_S8_UINT, vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
	view, img, bytes := attachmentOf(q, info, vk.IMAGE_ASPECT_DEPTH_BIT|vk.IMAGE_ASPECT_STENCIL_BIT)
	secondary := q.commands(0, vk.COMMAND_BUFFER_LEVEL_SECONDARY)
	rendering := vk.CommandBufferInheritanceRenderingInfo{
		SType:                 vk.STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
		DepthAttachmentFormat: info.Format, StencilAttachmentFormat: info.Format,
		RasterizationSamples: vk.SAMPLE_COUNT_1_BIT}
	begin := vk.CommandBufferBeginInfo{Flags: vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
		PInheritanceInfo: &vk.CommandBufferInheritanceInfo{PNext: unsafe.Pointer(&rendering)}}
	if r := commands.BeginCommandBuffer(secondary, &begin); r != vk.SUCCESS {
		t.Fatalf("%v %q", r, rules())
	}
	one := vk.ClearAttachment{AspectMask: vk.IMAGE_ASPECT_STENCIL_BIT}
	one.ClearValue.DepthStencil().Stencil = 9
	commands.CmdClearAttachments(secondary, 1, &one, 1, &vk.ClearRect{LayerCount: 1,
		Rect: vk.Rect2D{Extent: vk.Extent2D{Width: 1, Height: 1}}})
	if r := commands.EndCommandBuffer(secondary); r != vk.SUCCESS {
		t.Fatal(r)
	}
	depth := vk.RenderingAttachmentInfo{ImageView: view, LoadOp: vk.ATTACHMENT_LOAD_OP_CLEAR}
	depth.ClearValue.DepthStencil().Depth = 1
	stencil := depth
	stencil.ClearValue.DepthStencil().Stencil = 5
	render := func(flags vk.RenderingFlags) {
		t.Helper()
		list := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		record1(t, list, func() {
			commands.CmdBeginRendering(list, &vk.RenderingInfo{LayerCount: 1, PDepthAttachment: &depth, Flags: flags,
				PStencilAttachment: &stencil, RenderArea: vk.Rect2D{Extent: vk.Extent2D{Width: 16, Height: 16}}})
			commands.CmdExecuteCommands(list, 1, &secondary)
			commands.CmdEndRendering(list)
		})
		q.executed(list)
	}
	render(vk.RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT)
	if told := rules(); !slices.Equal(told, []string{"VUID-vkCmdBeginRendering-dynamicRendering-06446"}) {
		t.Errorf("told of %q, and only a feature is missing", told)
	}
	render(0)
	if told := rules(); !slices.Equal(told, []string{"VUID-vkCmdExecuteCommands-flags-06024"}) {
		t.Errorf("told of %q where the rendering has no secondary contents", told)
	}
	d, _ := img.layout.Subresource(vk.IMAGE_ASPECT_DEPTH_BIT, 0, 0)
	s, _ := img.layout.Subresource(vk.IMAGE_ASPECT_STENCIL_BIT, 0, 0)
	if got := [4]byte(bytes[d.Offset:]); got != [4]byte{0, 0, 0x80, 0x3f} || bytes[s.Offset] != 9 ||
		bytes[s.Offset+1] != 5 {
		t.Errorf("depth %x, stencils %d and %d", got, bytes[s.Offset], bytes[s.Offset+1])
	}
}

// TestRenderPassMisuse: each wrong create info fails with its rule.
func TestRenderPassMisuse(t *testing.T) {
	q := newPassTest(t)
	for rule, change := range map[vk.VUID]func(i *vk.RenderPassCreateInfo, a []vk.AttachmentDescription,
		s *vk.SubpassDescription){
		vk.VUID_VkRenderPassCreateInfo2_attachment_03051: func(_ *vk.RenderPassCreateInfo, _ []vk.AttachmentDescription,
			s *vk.SubpassDescription) {
			s.PColorAttachments.Attachment = 2
		},
		vk.VUID_VkRenderPassCreateInfo2_subpassCount_arraylength: func(i *vk.RenderPassCreateInfo,
			_ []vk.AttachmentDescription, _ *vk.SubpassDescription) {
			i.SubpassCount = 0
		},
		vk.VUID_VkAttachmentDescription2_samples_08745: func(_ *vk.RenderPassCreateInfo, a []vk.AttachmentDescription,
			_ *vk.SubpassDescription) {
			a[0].Samples = 16
		},
		vk.VUID_VkAttachmentDescription2_loadOp_parameter: func(_ *vk.RenderPassCreateInfo, a []vk.AttachmentDescription,
			_ *vk.SubpassDescription) {
			a[0].LoadOp = 77
		},
		vk.VUID_VkSubpassDescription2_pColorAttachments_02898: func(_ *vk.RenderPassCreateInfo, a []vk.AttachmentDescription,
			_ *vk.SubpassDescription) {
			a[0].Format = vk.FORMAT_BC1_RGB_UNORM_BLOCK
		},
		vk.VUID_VkSubpassDescription2_pResolveAttachments_03067: func(_ *vk.RenderPassCreateInfo,
			a []vk.AttachmentDescription, _ *vk.SubpassDescription) {
			a[1].Samples = 4
		},
		vk.VUID_VkSubpassDescription2_externalFormatResolve_09339: func(_ *vk.RenderPassCreateInfo,
			a []vk.AttachmentDescription, _ *vk.SubpassDescription) {
			a[1].Format = vk.FORMAT_B8G8R8A8_UNORM
		},
		vk.VUID_VkSubpassDescription2_externalFormatResolve_09335: func(_ *vk.RenderPassCreateInfo,
			_ []vk.AttachmentDescription, s *vk.SubpassDescription) {
			s.PColorAttachments.Attachment = vk.ATTACHMENT_UNUSED
		},
		vk.VUID_VkSubpassDescription2_pDepthStencilAttachment_02900: func(_ *vk.RenderPassCreateInfo,
			_ []vk.AttachmentDescription, s *vk.SubpassDescription) {
			s.PDepthStencilAttachment = &vk.AttachmentReference{Attachment: 0}
		},
		vk.VUID_VkSubpassDescription2_colorAttachmentCount_00845: func(_ *vk.RenderPassCreateInfo,
			_ []vk.AttachmentDescription, s *vk.SubpassDescription) {
			s.PColorAttachments, s.ColorAttachmentCount = &make([]vk.AttachmentReference, 9)[0], 9
			s.PResolveAttachments = nil
		},
	} {
		info := resolvePass()
		change(&info, vk.Slice(info.PAttachments, info.AttachmentCount), info.PSubpasses)
		p := vk.RenderPass(1)
		r := commands.CreateRenderPass(q.d.handle, &info, nil, &p)
		if got := rules(); r == vk.SUCCESS || p != 0 || len(got) != 1 || got[0] != rule.String() {
			t.Errorf("%v: %v, %#x, reported %q", rule, r, p, got)
		}
	}
}

// TestRenderPass2 makes a pass with views, and one that resolves depths and stencils.
func TestRenderPass2(t *testing.T) {
	q := newPassTest(t)
	attachments := []vk.AttachmentDescription2{
		{Format: vk.FORMAT_D24_UNORM_S8_UINT, Samples: vk.SAMPLE_COUNT_8_BIT, LoadOp: vk.ATTACHMENT_LOAD_OP_CLEAR},
		{Format: vk.FORMAT_D24_UNORM_S8_UINT, Samples: vk.SAMPLE_COUNT_1_BIT},
	}
	resolve := vk.SubpassDescriptionDepthStencilResolve{
		SType:            vk.STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE,
		DepthResolveMode: vk.RESOLVE_MODE_MAX_BIT, StencilResolveMode: vk.RESOLVE_MODE_SAMPLE_ZERO_BIT,
		PDepthStencilResolveAttachment: &vk.AttachmentReference2{Attachment: 1}}
	subpass := vk.SubpassDescription2{PNext: unsafe.Pointer(&resolve), ViewMask: 3,
		PDepthStencilAttachment: &vk.AttachmentReference2{Attachment: 0}}
	info := vk.RenderPassCreateInfo2{AttachmentCount: 2, PAttachments: &attachments[0], SubpassCount: 1,
		PSubpasses: &subpass}
	create := func(want vk.VUID) *renderPass {
		t.Helper()
		var p vk.RenderPass
		r := commands.CreateRenderPass2(q.d.handle, &info, nil, &p)
		got := rules()
		switch {
		case want == vk.NoVUID && r == vk.SUCCESS:
			o := renderPasses.Get(uint64(p))
			t.Cleanup(func() { commands.DestroyRenderPass(q.d.handle, p, nil) })
			return o
		case want == vk.NoVUID || r == vk.SUCCESS || len(got) != 1 || got[0] != want.String():
			t.Fatalf("%v, reported %q, want %q", r, got, want)
		}
		return nil
	}
	p := create(vk.NoVUID)
	s := p.pass.Subpasses[0]
	if s.ViewMask != 3 || s.Depth.Mode != vk.RESOLVE_MODE_MAX_BIT || s.Depth.Resolve != 1 ||
		s.Stencil.Mode != vk.RESOLVE_MODE_SAMPLE_ZERO_BIT || s.Stencil.Attachment != 0 {
		t.Errorf("%+v", s)
	}
	if other := create(vk.NoVUID); !other.pass.Compatible(&p.pass) {
		t.Error("equal passes are not compatible")
	}
	resolve.StencilResolveMode = vk.RESOLVE_MODE_AVERAGE_BIT
	create(vk.VUID_VkSubpassDescriptionDepthStencilResolve_stencilResolveMode_03184)
	resolve.StencilResolveMode = vk.RESOLVE_MODE_NONE
	attachments[1].Format = vk.FORMAT_D32_SFLOAT_S8_UINT
	create(vk.VUID_VkSubpassDescriptionDepthStencilResolve_pDepthStencilResolveAttachment_03181)
	attachments[1].Format = attachments[0].Format
	subpass.ViewMask = 1 << maxMultiviewViewCount
	create(vk.VUID_VkSubpassDescription2_viewMask_06706)
	subpass.ViewMask = 1
	if create(vk.NoVUID).pass.Compatible(&p.pass) {
		t.Error("passes of different views are compatible")
	}
}
