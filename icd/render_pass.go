package icd

import (
	"math/bits"

	"farside/internal/exec"
	"farside/internal/pass"
	"farside/internal/texel"
	"farside/internal/vk"
)

// renderPass is a VkRenderPass.
type renderPass struct {
	child
	pass pass.RenderPass
}

func createRenderPass(d *device, info *vk.RenderPassCreateInfo, _ *vk.AllocationCallbacks,
	out *vk.RenderPass) vk.Result {
	if !d.physical.graphics() {
		return noGraphics(d, "vkCreateRenderPass", vk.VUID_vkCreateRenderPass_device_10000, out, 1)
	}
	return d.addPass("vkCreateRenderPass", out, func(m *passMaker) error { return m.first(info) })
}

func createRenderPass2(d *device, info *vk.RenderPassCreateInfo2, _ *vk.AllocationCallbacks,
	out *vk.RenderPass) vk.Result {
	if !d.physical.graphics() {
		return noGraphics(d, "vkCreateRenderPass2", vk.VUID_vkCreateRenderPass2_device_10001, out, 1)
	}
	return d.addPass("vkCreateRenderPass2", out, func(m *passMaker) error { return m.second(info) })
}

// addPass makes a render pass of what read reads.
func (d *device) addPass(command string, out *vk.RenderPass, read func(*passMaker) error) vk.Result {
	*out = 0
	p := &renderPass{child: child{device: d}}
	m := passMaker{device: d, pass: &p.pass}
	err := read(&m)
	if err == nil {
		err = m.wrong
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return d.fail(command, err)
	}
	*out = vk.RenderPass(d.add(p))
	return vk.SUCCESS
}

// passMaker reads both forms of a render pass. The rules that it names are those of the second one.
type passMaker struct {
	device *device
	pass   *pass.RenderPass
	wrong  error // the first of a layout
}

// reference is a VkAttachmentReference2.
type reference struct {
	attachment uint32
	aspects    vk.ImageAspectFlags
}

// subpassInfo is a VkSubpassDescription2.
type subpassInfo struct {
	viewMask                 uint32
	inputs, colors, resolves []reference
	depth, depthResolve      reference
	depthMode, stencilMode   vk.ResolveModeFlagBits
}

var noReference = reference{attachment: pass.Unused}

func (m *passMaker) first(info *vk.RenderPassCreateInfo) error {
	for i := range vk.Slice(info.PAttachments, info.AttachmentCount) {
		a := &vk.Slice(info.PAttachments, info.AttachmentCount)[i]
		m.attachment(a.Format, a.Samples, a.LoadOp, a.StencilLoadOp)
		m.layout(a.InitialLayout, &initialRules)
		m.layout(a.FinalLayout, &finalRules)
	}
	many := vk.Find[vk.RenderPassMultiviewCreateInfo](info.PNext)
	if many != nil && many.SubpassCount != 0 && many.SubpassCount != info.SubpassCount {
		return invalid(vk.VUID_VkRenderPassCreateInfo_pNext_01928, "view masks of %d subpasses, of %d", many.SubpassCount,
			info.SubpassCount)
	}
	list := func(p *vk.AttachmentReference, count uint32) (out []reference) {
		if p == nil {
			return nil
		}
		for _, r := range vk.Slice(p, count) {
			out = append(out, m.firstReference(&r))
		}
		return out
	}
	aspects := vk.Find[vk.RenderPassInputAttachmentAspectCreateInfo](info.PNext)
	for i := range vk.Slice(info.PSubpasses, info.SubpassCount) {
		s := &vk.Slice(info.PSubpasses, info.SubpassCount)[i]
		own := subpassInfo{inputs: list(s.PInputAttachments, s.InputAttachmentCount),
			colors:   list(s.PColorAttachments, s.ColorAttachmentCount),
			resolves: list(s.PResolveAttachments, s.ColorAttachmentCount), depth: noReference, depthResolve: noReference}
		if s.PDepthStencilAttachment != nil {
			own.depth = m.firstReference(s.PDepthStencilAttachment)
		}
		if many != nil && many.SubpassCount != 0 {
			own.viewMask = vk.Slice(many.PViewMasks, many.SubpassCount)[i]
		}
		if aspects != nil {
			for _, r := range vk.Slice(aspects.PAspectReferences, aspects.AspectReferenceCount) {
				if r.Subpass == uint32(i) && uint64(r.InputAttachmentIndex) < uint64(len(own.inputs)) {
					own.inputs[r.InputAttachmentIndex].aspects = r.AspectMask
				}
			}
		}
		if err := m.subpass(&own); err != nil {
			return err
		}
	}
	for _, d := range vk.Slice(info.PDependencies, info.DependencyCount) {
		m.pass.Depend(d.DstSubpass, d.SrcSubpass)
	}
	return nil
}

func (m *passMaker) second(info *vk.RenderPassCreateInfo2) error {
	for i := range vk.Slice(info.PAttachments, info.AttachmentCount) {
		a := &vk.Slice(info.PAttachments, info.AttachmentCount)[i]
		m.attachment(a.Format, a.Samples, a.LoadOp, a.StencilLoadOp)
		m.layout(a.InitialLayout, &initialRules)
		m.layout(a.FinalLayout, &finalRules)
	}
	list := func(p *vk.AttachmentReference2, count uint32) (out []reference) {
		if p == nil {
			return nil
		}
		for i := range vk.Slice(p, count) {
			out = append(out, m.reference(&vk.Slice(p, count)[i]))
		}
		return out
	}
	for i := range vk.Slice(info.PSubpasses, info.SubpassCount) {
		s := &vk.Slice(info.PSubpasses, info.SubpassCount)[i]
		own := subpassInfo{viewMask: s.ViewMask, inputs: list(s.PInputAttachments, s.InputAttachmentCount),
			colors:   list(s.PColorAttachments, s.ColorAttachmentCount),
			resolves: list(s.PResolveAttachments, s.ColorAttachmentCount), depth: noReference, depthResolve: noReference}
		if s.PDepthStencilAttachment != nil {
			own.depth.attachment = m.reference(s.PDepthStencilAttachment).attachment
		}
		r := vk.Find[vk.SubpassDescriptionDepthStencilResolve](s.PNext)
		if r != nil && r.PDepthStencilResolveAttachment != nil {
			own.depthResolve.attachment = m.reference(r.PDepthStencilResolveAttachment).attachment
			own.depthMode, own.stencilMode = r.DepthResolveMode, r.StencilResolveMode
		}
		if err := m.subpass(&own); err != nil {
			return err
		}
	}
	for i := range vk.Slice(info.PDependencies, info.DependencyCount) {
		d := &vk.Slice(info.PDependencies, info.DependencyCount)[i]
		m.pass.Depend(d.DstSubpass, d.SrcSubpass)
	}
	return nil
}

// firstReference reads a VkAttachmentReference.
func (m *passMaker) firstReference(r *vk.AttachmentReference) reference {
	if r.Attachment != pass.Unused {
		m.layout(r.Layout, &referenceRules)
	}
	return reference{attachment: r.Attachment}
}

// reference reads a VkAttachmentReference2.
func (m *passMaker) reference(r *vk.AttachmentReference2) reference {
	if r.Attachment != pass.Unused {
		m.layout(r.Layout, &referenceRules)
	}
	return reference{r.Attachment, r.AspectMask}
}

// layout keeps the first error of a layout.
func (m *passMaker) layout(l vk.ImageLayout, rules *layoutRules) {
	if err := m.device.checkLayout(l, rules); m.wrong == nil {
		m.wrong = err
	}
}

func (m *passMaker) attachment(format vk.Format, samples vk.SampleCountFlagBits,
	load, stencilLoad vk.AttachmentLoadOp) {
	m.pass.Attachments = append(m.pass.Attachments, pass.Attachment{Format: format, Samples: uint32(samples),
		Aspects: pass.AspectsOf(format), Load: load, StencilLoad: stencilLoad})
}

// subpass adds a subpass, whose attachments it checks.
func (m *passMaker) subpass(s *subpassInfo) error {
	for _, list := range [][]reference{s.inputs, s.colors, s.resolves, {s.depth, s.depthResolve}} {
		for _, r := range list {
			if r.attachment != pass.Unused && r.attachment >= uint32(len(m.pass.Attachments)) {
				return invalid(vk.VUID_VkRenderPassCreateInfo2_attachment_03051, "subpass %d uses attachment %d of %d",
					len(m.pass.Subpasses), r.attachment, len(m.pass.Attachments))
			}
		}
	}
	if most := m.device.physical.limits.MaxColorAttachments; uint64(len(s.colors)) > uint64(min(most,
		exec.MaxColors)) {
		return invalid(vk.VUID_VkSubpassDescription2_colorAttachmentCount_00845, "%d colour attachments, of %d",
			len(s.colors), most)
	}
	out := pass.Subpass{ViewMask: s.viewMask, Depth: pass.None, Stencil: pass.None}
	for i, c := range s.colors {
		r := pass.Reference{Attachment: c.attachment, Resolve: pass.Unused, Mode: vk.RESOLVE_MODE_AVERAGE_BIT}
		if i < len(s.resolves) {
			r.Resolve = s.resolves[i].attachment
		}
		out.Colors = append(out.Colors, r)
	}
	if s.depth.attachment != pass.Unused {
		aspects := m.pass.Attachments[s.depth.attachment].Aspects
		if aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
			out.Depth = pass.Reference{Attachment: s.depth.attachment, Resolve: m.resolvable(s, vk.IMAGE_ASPECT_DEPTH_BIT),
				Mode: s.depthMode}
		}
		if aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
			out.Stencil = pass.Reference{Attachment: s.depth.attachment,
				Resolve: m.resolvable(s, vk.IMAGE_ASPECT_STENCIL_BIT), Mode: s.stencilMode}
		}
	}
	for _, i := range s.inputs {
		input := pass.Input{Attachment: i.attachment, Aspects: i.aspects}
		if i.attachment != pass.Unused && i.aspects == 0 {
			input.Aspects = m.pass.Attachments[i.attachment].Aspects
		}
		out.Inputs = append(out.Inputs, input)
	}
	m.pass.Subpasses = append(m.pass.Subpasses, out)
	return m.checkSubpass(s, &out)
}

// resolvable is what an aspect of a depth/stencil attachment is resolved to, nothing if it lacks the aspect.
func (m *passMaker) resolvable(s *subpassInfo, aspect vk.ImageAspectFlags) uint32 {
	to := s.depthResolve.attachment
	if to != pass.Unused && m.pass.Attachments[to].Aspects&aspect == 0 {
		return pass.Unused
	}
	return to
}

// checkSubpass checks what formats and sample counts a subpass uses.
func (m *passMaker) checkSubpass(s *subpassInfo, out *pass.Subpass) error {
	of := func(r reference) *pass.Attachment {
		if r.attachment == pass.Unused {
			return nil
		}
		return &m.pass.Attachments[r.attachment]
	}
	can := func(a *pass.Attachment, features vk.FormatFeatureFlags2, rule vk.VUID) error {
		if a != nil && m.device.physical.formatFeatures(a.Format)&features == 0 {
			return invalid(rule, "format %v is not for %v", a.Format, features)
		}
		return nil
	}
	samples := uint32(0)
	drawn := func(a *pass.Attachment) error {
		if a == nil || samples == 0 || samples == a.Samples {
			if a != nil {
				samples = a.Samples
			}
			return nil
		}
		return invalid(vk.VUID_VkSubpassDescription2_multisampledRenderToSingleSampled_06872,
			"attachments of %d and %d samples in a subpass", samples, a.Samples)
	}
	for i, r := range s.colors {
		a := of(r)
		if err := can(a, vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT,
			vk.VUID_VkSubpassDescription2_pColorAttachments_02898); err != nil {
			return err
		}
		if err := drawn(a); err != nil {
			return err
		}
		if to := out.Colors[i].Resolve; to != pass.Unused {
			if err := checkResolve(a, &m.pass.Attachments[to]); err != nil {
				return err
			}
		}
	}
	for _, r := range s.inputs {
		if err := can(of(r), attachmentFormat, vk.VUID_VkSubpassDescription2_pInputAttachments_02897); err != nil {
			return err
		}
	}
	if err := can(of(s.depth), vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT,
		vk.VUID_VkSubpassDescription2_pDepthStencilAttachment_02900); err != nil {
		return err
	}
	if err := drawn(of(s.depth)); err != nil {
		return err
	}
	return m.checkDepthResolve(s, of(s.depth), of(s.depthResolve))
}

// checkResolve checks what a colour attachment is resolved to.
func checkResolve(from, to *pass.Attachment) error {
	switch {
	case from == nil:
		return invalid(vk.VUID_VkSubpassDescription2_externalFormatResolve_09335,
			"what is resolved is VK_ATTACHMENT_UNUSED")
	case to.Samples != 1:
		return invalid(vk.VUID_VkSubpassDescription2_pResolveAttachments_03067, "a resolve to %d samples", to.Samples)
	case to.Format != from.Format:
		return invalid(vk.VUID_VkSubpassDescription2_externalFormatResolve_09339, "a resolve from %v to %v", from.Format,
			to.Format)
	}
	return nil
}

// checkDepthResolve checks what a depth/stencil attachment is resolved to.
func (m *passMaker) checkDepthResolve(s *subpassInfo, from, to *pass.Attachment) error {
	if to == nil {
		return nil
	}
	modes := vk.PhysicalDeviceDepthStencilResolveProperties{}
	m.device.physical.resolveModes(&modes)
	if from == nil {
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_pDepthStencilResolveAttachment_03177,
			"the depth/stencil attachment is VK_ATTACHMENT_UNUSED, and is resolved")
	}
	mode := func(mode, of vk.ResolveModeFlagBits) bool {
		return mode == vk.RESOLVE_MODE_NONE || bits.OnesCount32(uint32(mode)) == 1 && mode&of != 0
	}
	switch both := from.Aspects & to.Aspects; {
	case s.depthMode|s.stencilMode == vk.RESOLVE_MODE_NONE:
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_pDepthStencilResolveAttachment_03178,
			"neither depths nor stencils are resolved")
	case to.Samples != 1:
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_pDepthStencilResolveAttachment_03180,
			"a resolve to %d samples", to.Samples)
	case !mode(s.depthMode, modes.SupportedDepthResolveModes):
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_depthResolveMode_03183, "depths by %v", s.depthMode)
	case !mode(s.stencilMode, modes.SupportedStencilResolveModes):
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_stencilResolveMode_03184, "stencils by %v",
			s.stencilMode)
	case both&vk.IMAGE_ASPECT_DEPTH_BIT != 0 && !sameDepths(from.Format, to.Format):
		return invalid(vk.VUID_VkSubpassDescriptionDepthStencilResolve_pDepthStencilResolveAttachment_03181,
			"depths from %v to %v", from.Format, to.Format)
	}
	return nil
}

// sameDepths says whether depths of two formats have the same bits and meaning.
func sameDepths(a, b vk.Format) bool {
	x, found := texel.CodecOf(a, vk.IMAGE_ASPECT_DEPTH_BIT)
	y, ok := texel.CodecOf(b, vk.IMAGE_ASPECT_DEPTH_BIT)
	return a == b || found && ok && x.SameBits(y)
}

// check checks what attachments are, and what subpasses are together.
func (m *passMaker) check() error {
	p := m.pass
	for i := range p.Attachments {
		a := &p.Attachments[i]
		switch {
		case a.Samples&^uint32(m.device.physical.sampleCounts()) != 0 || bits.OnesCount32(a.Samples) != 1:
			return invalid(vk.VUID_VkAttachmentDescription2_samples_08745, "attachment %d has %d samples", i, a.Samples)
		case !loadOp(a.Load):
			return invalid(vk.VUID_VkAttachmentDescription2_loadOp_parameter, "loadOp of attachment %d is %v", i, a.Load)
		case !loadOp(a.StencilLoad):
			return invalid(vk.VUID_VkAttachmentDescription2_stencilLoadOp_parameter, "stencilLoadOp of attachment %d is %v", i,
				a.StencilLoad)
		}
	}
	if len(p.Subpasses) == 0 {
		return invalid(vk.VUID_VkRenderPassCreateInfo2_subpassCount_arraylength, "subpassCount is 0")
	}
	for i := range p.Subpasses {
		mask := p.Subpasses[i].ViewMask
		switch {
		case (mask == 0) != (p.Subpasses[0].ViewMask == 0):
			return invalid(vk.VUID_VkRenderPassCreateInfo2_viewMask_03058, "only some subpasses have a view mask")
		case mask != 0 && !m.device.allows("multiview", vk.VUID_VkSubpassDescription2_multiview_06558):
			return invalid(vk.VUID_VkSubpassDescription2_multiview_06558, "view mask %#x needs the multiview feature", mask)
		case bits.Len32(mask) > maxMultiviewViewCount:
			return invalid(vk.VUID_VkSubpassDescription2_viewMask_06706, "view mask %#x, and there are %d views", mask,
				maxMultiviewViewCount)
		}
	}
	return nil
}

// loadOp says whether a load operation is one.
func loadOp(op vk.AttachmentLoadOp) bool {
	switch op {
	case vk.ATTACHMENT_LOAD_OP_LOAD, vk.ATTACHMENT_LOAD_OP_CLEAR, vk.ATTACHMENT_LOAD_OP_DONT_CARE,
		vk.ATTACHMENT_LOAD_OP_NONE:
		return true
	}
	return false
}

// getRenderAreaGranularity: every area is as good as any other.
func getRenderAreaGranularity(_ *device, _ *renderPass, out *vk.Extent2D) {
	*out = vk.Extent2D{Width: 1, Height: 1}
}
