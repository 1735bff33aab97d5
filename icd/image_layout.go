package icd

import "farside/internal/vk"

// Layouts of images change nothing: texels lie where they lie. Commands ignore them, but for the rules that ask for a
// feature.

// layoutRules are the rules of a place where a layout stands. Those that are not there are empty.
type layoutRules struct {
	feedback  vk.VUID // VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT
	localRead vk.VUID // VK_IMAGE_LAYOUT_RENDERING_LOCAL_READ
}

// Render passes have the rules of their second form.
var (
	initialRules = layoutRules{vk.VUID_VkAttachmentDescription2_attachmentFeedbackLoopLayout_07309,
		vk.VUID_VkAttachmentDescription2_dynamicRenderingLocalRead_09544}
	finalRules = layoutRules{vk.VUID_VkAttachmentDescription2_attachmentFeedbackLoopLayout_07310,
		vk.VUID_VkAttachmentDescription2_dynamicRenderingLocalRead_09545}
	referenceRules = layoutRules{vk.VUID_VkAttachmentReference2_attachmentFeedbackLoopLayout_07311,
		vk.VUID_VkAttachmentReference2_dynamicRenderingLocalRead_09546}
	firstOldRules = layoutRules{localRead: vk.VUID_VkImageMemoryBarrier_dynamicRenderingLocalRead_09551}
	firstNewRules = layoutRules{vk.VUID_VkImageMemoryBarrier_attachmentFeedbackLoopLayout_07313,
		vk.VUID_VkImageMemoryBarrier_dynamicRenderingLocalRead_09552}
	oldRules = layoutRules{localRead: vk.VUID_VkImageMemoryBarrier2_dynamicRenderingLocalRead_09551}
	newRules = layoutRules{vk.VUID_VkImageMemoryBarrier2_attachmentFeedbackLoopLayout_07313,
		vk.VUID_VkImageMemoryBarrier2_dynamicRenderingLocalRead_09552}
	hostOldRules = layoutRules{localRead: vk.VUID_VkHostImageLayoutTransitionInfo_dynamicRenderingLocalRead_09551}
	hostNewRules = layoutRules{vk.VUID_VkHostImageLayoutTransitionInfo_attachmentFeedbackLoopLayout_07313,
		vk.VUID_VkHostImageLayoutTransitionInfo_dynamicRenderingLocalRead_09552}
)

// checkLayout looks whether there is the feature that a layout needs.
func (d *device) checkLayout(l vk.ImageLayout, rules *layoutRules) error {
	feature, rule := "", vk.NoVUID
	switch l {
	case vk.IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT:
		feature, rule = "attachmentFeedbackLoopLayout", rules.feedback
	case vk.IMAGE_LAYOUT_RENDERING_LOCAL_READ:
		feature, rule = "dynamicRenderingLocalRead", rules.localRead
	}
	if rule == vk.NoVUID || d.allows(feature, rule) {
		return nil
	}
	return vk.Errorf(vk.ERROR_UNKNOWN, rule, "layout %v, and the device has no feature %s", l, feature)
}

// checkBarriers looks at the layouts of vkCmdPipelineBarrier and vkCmdWaitEvents.
func (d *device) checkBarriers(count uint32, images *vk.ImageMemoryBarrier) error {
	for i := range vk.Slice(images, count) {
		m := &vk.Slice(images, count)[i]
		if err := d.checkLayout(m.OldLayout, &firstOldRules); err != nil {
			return err
		}
		if err := d.checkLayout(m.NewLayout, &firstNewRules); err != nil {
			return err
		}
	}
	return nil
}

// checkDependency looks at the layouts of commands of synchronization2. The structure may be missing.
func (d *device) checkDependency(info *vk.DependencyInfo) error {
	if info == nil {
		return nil
	}
	for i := range vk.Slice(info.PImageMemoryBarriers, info.ImageMemoryBarrierCount) {
		m := &vk.Slice(info.PImageMemoryBarriers, info.ImageMemoryBarrierCount)[i]
		if err := d.checkLayout(m.OldLayout, &oldRules); err != nil {
			return err
		}
		if err := d.checkLayout(m.NewLayout, &newRules); err != nil {
			return err
		}
	}
	return nil
}
