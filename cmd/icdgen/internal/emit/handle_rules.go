package emit

// handleRule says of a parameter or member, by "vkCommand.parameter" or "VkStruct.member", what the registry does not:
// members that it marks with noautovalidity need a row, for their implicit rules are written by hand in the
// specification.
type handleRule struct {
	skip     string // why generated code doesn't look at it, nor at what it points to
	vuid     string // the rule that a handle breaks that isn't live
	when     string // a Go condition on the structure s, without which the member is ignored
	set      string // what makes the condition true in a test: a statement about the structure s
	optional bool   // VK_NULL_HANDLE is allowed
}

// Reasons that several rows share.
const (
	noGraphics       = "refused whole, whatever the arguments are, where no queue family has graphics"
	graphicsPipeline = "refused whole where no queue family has graphics, and checked in graphics_pipeline.go elsewhere"
	descriptor       = "checked in descriptor_set.go, write by write: the layout says which members count"
)

var handleRules = map[string]handleRule{
	"vkCreateDevice.pCreateInfo": {
		skip: "the physical devices of a group are compared in device.go: there is no device yet",
	},
	"vkCreateFramebuffer.pCreateInfo":         {skip: "checked in framebuffer.go: " + noGraphics},
	"vkCreateRenderPass.pRenderPass":          {skip: noGraphics},
	"vkCreateRenderPass2.pRenderPass":         {skip: noGraphics},
	"vkCreateFramebuffer.pFramebuffer":        {skip: noGraphics},
	"vkCreateGraphicsPipelines.pipelineCache": {skip: graphicsPipeline},
	"vkCreateGraphicsPipelines.pPipelines":    {skip: graphicsPipeline},
	"vkCreateGraphicsPipelines.pCreateInfos":  {skip: graphicsPipeline},
	"vkQueueBindSparse.pBindInfo":             {skip: "refused whole: no queue family has sparse binding"},

	"vkFreeCommandBuffers.pCommandBuffers": {vuid: "VUID-vkFreeCommandBuffers-pCommandBuffers-00048", optional: true},
	"vkFreeDescriptorSets.pDescriptorSets": {vuid: "VUID-vkFreeDescriptorSets-pDescriptorSets-00310", optional: true},

	"VkBindImageMemoryInfo.memory": {
		vuid: "VUID-VkBindImageMemoryInfo-pNext-01632",
		when: "vk.Find[vk.BindImageMemorySwapchainInfoKHR](s.PNext) == nil",
		set:  "s.PNext = nil",
	},
	"VkCommandBufferBeginInfo.pInheritanceInfo": {
		skip: "checked in command_buffer.go: a render pass counts for command buffers that go on with one",
	},
	"VkComputePipelineCreateInfo.basePipelineHandle": {
		skip: "checked in pipeline.go, with the index that may stand for it",
	},
	"VkDescriptorSetLayoutBinding.pImmutableSamplers": {
		vuid: "VUID-VkDescriptorSetLayoutBinding-descriptorType-00282",
		when: "s.DescriptorType == vk.DESCRIPTOR_TYPE_SAMPLER || " +
			"s.DescriptorType == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER",
		set: "s.DescriptorType = vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER",
	},
	"VkDescriptorUpdateTemplateCreateInfo.descriptorSetLayout": {
		vuid: "VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00350",
		when: "s.TemplateType == vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET",
		set:  "s.TemplateType = vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET",
	},
	"VkDescriptorUpdateTemplateCreateInfo.pipelineLayout": {
		vuid: "VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00352",
		when: "s.TemplateType == vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS",
		set:  "s.TemplateType = vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS",
	},
	"VkPhysicalDeviceSurfaceInfo2KHR.surface": {vuid: "VUID-VkPhysicalDeviceSurfaceInfo2KHR-surface-07919"},
	"VkShaderCreateInfoEXT.pSetLayouts": {
		vuid: "VUID-VkShaderCreateInfoEXT-setLayoutCount-13359", optional: true,
	},
	"VkWriteDescriptorSet.dstSet":           {vuid: "VUID-VkWriteDescriptorSet-dstSet-00320"},
	"VkWriteDescriptorSet.pBufferInfo":      {skip: descriptor},
	"VkWriteDescriptorSet.pImageInfo":       {skip: descriptor},
	"VkWriteDescriptorSet.pTexelBufferView": {skip: descriptor},
}
