package icd

import (
	"slices"
	"testing"

	"farside/internal/vk"
)

// TestLayoutFeatures: a layout whose feature is not enabled works with a warning. Where the device has no such feature,
// it is refused with the same rule.
func TestLayoutFeatures(t *testing.T) {
	const feedback, local = vk.IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT, vk.IMAGE_LAYOUT_RENDERING_LOCAL_READ
	q := newPassTest(t)
	rendered := func(change func(a *vk.AttachmentDescription, r *vk.AttachmentReference)) func() bool {
		return func() bool {
			info := resolvePass()
			change(info.PAttachments, info.PSubpasses.PColorAttachments)
			var p vk.RenderPass
			r := commands.CreateRenderPass(q.d.handle, &info, nil, &p)
			commands.DestroyRenderPass(q.d.handle, p, nil)
			return r == vk.SUCCESS
		}
	}
	recorded := func(add func(c vk.CommandBuffer, old, new vk.ImageLayout), old, new vk.ImageLayout) func() bool {
		return func() bool {
			c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
			commands.BeginCommandBuffer(c, &vk.CommandBufferBeginInfo{})
			add(c, old, new)
			return commands.EndCommandBuffer(c) == vk.SUCCESS
		}
	}
	first := func(c vk.CommandBuffer, old, new vk.ImageLayout) {
		commands.CmdPipelineBarrier(c, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nil, 0,
			nil, 1, &vk.ImageMemoryBarrier{OldLayout: old, NewLayout: new})
	}
	dependency := func(old, new vk.ImageLayout) *vk.DependencyInfo {
		return &vk.DependencyInfo{ImageMemoryBarrierCount: 1,
			PImageMemoryBarriers: &vk.ImageMemoryBarrier2{OldLayout: old, NewLayout: new}}
	}
	second := func(c vk.CommandBuffer, old, new vk.ImageLayout) {
		commands.CmdPipelineBarrier2(c, dependency(old, new))
	}
	event := newTestEvent(t, q.d, 0)
	for _, test := range []struct {
		rule string
		use  func() bool
	}{
		{"VUID-VkAttachmentDescription2-attachmentFeedbackLoopLayout-07309",
			rendered(func(a *vk.AttachmentDescription, _ *vk.AttachmentReference) { a.InitialLayout = feedback })},
		{"VUID-VkAttachmentDescription2-attachmentFeedbackLoopLayout-07310",
			rendered(func(a *vk.AttachmentDescription, _ *vk.AttachmentReference) { a.FinalLayout = feedback })},
		{"VUID-VkAttachmentReference2-attachmentFeedbackLoopLayout-07311",
			rendered(func(_ *vk.AttachmentDescription, r *vk.AttachmentReference) { r.Layout = feedback })},
		{"VUID-VkAttachmentDescription2-dynamicRenderingLocalRead-09544",
			rendered(func(a *vk.AttachmentDescription, _ *vk.AttachmentReference) { a.InitialLayout = local })},
		{"VUID-VkAttachmentDescription2-dynamicRenderingLocalRead-09545",
			rendered(func(a *vk.AttachmentDescription, _ *vk.AttachmentReference) { a.FinalLayout = local })},
		{"VUID-VkAttachmentReference2-dynamicRenderingLocalRead-09546",
			rendered(func(_ *vk.AttachmentDescription, r *vk.AttachmentReference) { r.Layout = local })},
		{"", rendered(func(_ *vk.AttachmentDescription, r *vk.AttachmentReference) {
			r.Layout = vk.IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
		})},
		{"VUID-VkImageMemoryBarrier-attachmentFeedbackLoopLayout-07313", recorded(first, 0, feedback)},
		{"", recorded(first, feedback, vk.IMAGE_LAYOUT_GENERAL)},
		{"VUID-VkImageMemoryBarrier-dynamicRenderingLocalRead-09551", recorded(first, local, vk.IMAGE_LAYOUT_GENERAL)},
		{"VUID-VkImageMemoryBarrier-dynamicRenderingLocalRead-09552", recorded(first, 0, local)},
		{"VUID-VkImageMemoryBarrier2-attachmentFeedbackLoopLayout-07313", recorded(second, 0, feedback)},
		{"VUID-VkImageMemoryBarrier2-dynamicRenderingLocalRead-09551", recorded(second, local, vk.IMAGE_LAYOUT_GENERAL)},
		{"VUID-VkImageMemoryBarrier2-dynamicRenderingLocalRead-09552", recorded(second, 0, local)},
		{"", recorded(second, 0, vk.IMAGE_LAYOUT_GENERAL)},
	} {
		q.d.features["attachmentFeedbackLoopLayout"], q.d.features["dynamicRenderingLocalRead"] = false, false
		takeInbox()
		if ok, told := test.use(), rules(); !ok || !slices.Equal(told, oneRule(test.rule)) {
			t.Errorf("%s: worked %v, told of %q", test.rule, ok, told)
		}
		undo := lacking(t, q.d, "attachmentFeedbackLoopLayout", "dynamicRenderingLocalRead")
		if ok, told := test.use(), rules(); ok != (test.rule == "") || len(told) < len(oneRule(test.rule)) ||
			test.rule != "" && told[0] != test.rule {
			t.Errorf("%s: worked %v without the feature, told of %q", test.rule, ok, told)
		}
		undo()
		q.d.features["attachmentFeedbackLoopLayout"], q.d.features["dynamicRenderingLocalRead"] = true, true
		if ok, told := test.use(), rules(); !ok || len(told) != 0 {
			t.Errorf("%s: worked %v with the feature, told of %q", test.rule, ok, told)
		}
	}
	// The other commands with barriers look at them, too.
	lacking(t, q.d, "attachmentFeedbackLoopLayout")
	q.d.features["attachmentFeedbackLoopLayout"] = false
	for _, add := range []func(c vk.CommandBuffer){
		func(c vk.CommandBuffer) { commands.CmdSetEvent2(c, event, dependency(0, feedback)) },
		func(c vk.CommandBuffer) { commands.CmdWaitEvents2(c, 1, &event, dependency(0, feedback)) },
		func(c vk.CommandBuffer) {
			commands.CmdWaitEvents(c, 1, &event, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, nil,
				0, nil, 1, &vk.ImageMemoryBarrier{NewLayout: feedback})
		},
	} {
		takeInbox()
		c := q.commands(0, vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		commands.BeginCommandBuffer(c, &vk.CommandBufferBeginInfo{})
		add(c)
		if told := rules(); len(told) != 1 || commands.EndCommandBuffer(c) == vk.SUCCESS {
			t.Errorf("told of %q", told)
		}
	}
}
