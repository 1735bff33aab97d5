package icd

import (
	"slices"

	"farside/internal/command"
	"farside/internal/exec"
	"farside/internal/vk"
)

// Local reads of dynamic renderings: which outputs of fragment shaders colour attachments get, and which input
// attachments are which attachments. What a shader reads is what the descriptor names, as in render passes. So the
// numbers of input attachments change nothing. They are recorded for the rules about what goes together.

// locationsOf checks what a structure says of locations. None is that attachments have the locations of their numbers.
func (d *device) locationsOf(i *vk.RenderingAttachmentLocationInfo) ([]uint32, error) {
	if i.ColorAttachmentCount > exec.MaxColors {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingAttachmentLocationInfo_colorAttachmentCount_09514,
			"%d colour attachments are more than maxColorAttachments, %d", i.ColorAttachmentCount, exec.MaxColors)
	}
	var list []uint32
	if i.PColorAttachmentLocations != nil {
		list = slices.Clone(vk.Slice(i.PColorAttachmentLocations, i.ColorAttachmentCount))
	} else {
		for n := range i.ColorAttachmentCount {
			list = append(list, n)
		}
	}
	for n, l := range list {
		const rule = vk.VUID_VkRenderingAttachmentLocationInfo_dynamicRenderingLocalRead_09512
		switch {
		case l != uint32(n) && !d.allows("dynamicRenderingLocalRead", rule):
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, rule, "attachment %d has location %d", n, int32(l))
		case l == vk.ATTACHMENT_UNUSED:
		case l >= exec.MaxColors:
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingAttachmentLocationInfo_pColorAttachmentLocations_09515,
				"location %d is not below maxColorAttachments, %d", l, exec.MaxColors)
		case slices.Contains(list[:n], l):
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingAttachmentLocationInfo_pColorAttachmentLocations_09513,
				"location %d appears twice", l)
		}
	}
	return list, nil
}

// inputsOf checks the numbers of input attachments, and returns them in the form of command.SetInputs.
func (d *device) inputsOf(i *vk.RenderingInputAttachmentIndexInfo) ([]uint32, error) {
	if err := d.checkInputs(i); err != nil {
		return nil, err
	}
	list := make([]uint32, i.ColorAttachmentCount+2)
	for n := range list {
		switch list[n] = uint32(n); {
		case uint32(n) >= i.ColorAttachmentCount:
			list[n] = command.InputWithout
		case i.PColorAttachmentInputIndices != nil:
			list[n] = vk.Slice(i.PColorAttachmentInputIndices, i.ColorAttachmentCount)[n]
		}
	}
	if i.PDepthInputAttachmentIndex != nil {
		list[i.ColorAttachmentCount] = *i.PDepthInputAttachmentIndex
	}
	if i.PStencilInputAttachmentIndex != nil {
		list[i.ColorAttachmentCount+1] = *i.PStencilInputAttachmentIndex
	}
	return list, nil
}

// checkInputs holds the numbers of input attachments to their rules.
func (d *device) checkInputs(i *vk.RenderingInputAttachmentIndexInfo) error {
	if i.ColorAttachmentCount > exec.MaxColors {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingInputAttachmentIndexInfo_colorAttachmentCount_09525,
			"%d colour attachments are more than maxColorAttachments, %d", i.ColorAttachmentCount, exec.MaxColors)
	}
	seen := map[uint32]bool{}
	if i.PColorAttachmentInputIndices != nil {
		for n, index := range vk.Slice(i.PColorAttachmentInputIndices, i.ColorAttachmentCount) {
			const rule = vk.VUID_VkRenderingInputAttachmentIndexInfo_dynamicRenderingLocalRead_09519
			switch {
			case index != uint32(n) && index != vk.ATTACHMENT_UNUSED && !d.allows("dynamicRenderingLocalRead", rule):
				return vk.Errorf(vk.ERROR_UNKNOWN, rule, "attachment %d is input attachment %d", n, index)
			case index == vk.ATTACHMENT_UNUSED:
			case seen[index]:
				return vk.Errorf(vk.ERROR_UNKNOWN,
					vk.VUID_VkRenderingInputAttachmentIndexInfo_pColorAttachmentInputIndices_09522,
					"two attachments are input attachment %d", index)
			}
			seen[index] = true
		}
	}
	for _, other := range []struct {
		index      *uint32
		rule, lack vk.VUID
	}{
		{i.PDepthInputAttachmentIndex, vk.VUID_VkRenderingInputAttachmentIndexInfo_pColorAttachmentInputIndices_09523,
			vk.VUID_VkRenderingInputAttachmentIndexInfo_dynamicRenderingLocalRead_09520},
		{i.PStencilInputAttachmentIndex, vk.VUID_VkRenderingInputAttachmentIndexInfo_pColorAttachmentInputIndices_09524,
			vk.VUID_VkRenderingInputAttachmentIndexInfo_dynamicRenderingLocalRead_09521},
	} {
		switch {
		case other.index == nil || *other.index == vk.ATTACHMENT_UNUSED:
		case !d.allows("dynamicRenderingLocalRead", other.lack):
			return vk.Errorf(vk.ERROR_UNKNOWN, other.lack, "depth or stencil is input attachment %d", *other.index)
		case seen[*other.index]:
			return vk.Errorf(vk.ERROR_UNKNOWN, other.rule, "depth or stencil, and a colour, are input attachment %d",
				*other.index)
		}
	}
	return nil
}

func cmdSetRenderingAttachmentLocations(b *commandBuffer, info *vk.RenderingAttachmentLocationInfo) {
	b.recordGraphics("vkCmdSetRenderingAttachmentLocations", func() error {
		list, err := b.pool.device.locationsOf(info)
		if err != nil {
			return err
		}
		return b.stream.SetLocations(list)
	})
}

func cmdSetRenderingInputAttachmentIndices(b *commandBuffer, info *vk.RenderingInputAttachmentIndexInfo) {
	b.recordGraphics("vkCmdSetRenderingInputAttachmentIndices", func() error {
		list, err := b.pool.device.inputsOf(info)
		if err != nil {
			return err
		}
		return b.stream.SetInputs(list)
	})
}

// readLocations takes over the locations of colour attachments.
func (m *graphicsMaker) readLocations() (err error) {
	if i := vk.Find[vk.RenderingAttachmentLocationInfo](m.info.PNext); i != nil && m.info.RenderPass == 0 {
		m.made.state.Locations, err = m.locationsOf(i)
	}
	return err
}

// readInputs checks the numbers of input attachments.
func (m *graphicsMaker) readInputs() error {
	if i := vk.Find[vk.RenderingInputAttachmentIndexInfo](m.info.PNext); i != nil && m.info.RenderPass == 0 {
		return m.checkInputs(i)
	}
	return nil
}
