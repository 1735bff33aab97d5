// A dispatch is given bytes that a fill before it writes, with no barrier between the two.
#include "async.h"

// The SPIR-V of this shader, without names:
//	layout(set = 0, binding = 0) readonly buffer From { uint from[]; };
//	layout(set = 0, binding = 1) writeonly buffer To { uint to[]; };
//	void main() { to[0] = from[0]; }
static const uint32_t shader[] = {
	0x7230203, 0x10000, 0x8000b, 0x15, 0, 0x20011, 1, 0x6000b, 1, 0x4c534c47, 0x6474732e, 0x3035342e, 0, 0x3000e, 0,
	1, 0x5000f, 5, 4, 0x6e69616d, 0, 0x60010, 4, 0x11, 1, 1, 1, 0x40047, 7, 6, 4, 0x40048, 8, 0, 0x19, 0x50048, 8, 0,
	0x23, 0, 0x30047, 8, 3, 0x40047, 0xa, 0x22, 0, 0x40047, 0xa, 0x21, 1, 0x40047, 0xd, 6, 4, 0x40048, 0xe, 0, 0x18,
	0x50048, 0xe, 0, 0x23, 0, 0x30047, 0xe, 3, 0x40047, 0x10, 0x22, 0, 0x40047, 0x10, 0x21, 0, 0x20013, 2, 0x30021, 3,
	2, 0x40015, 6, 0x20, 0, 0x3001d, 7, 6, 0x3001e, 8, 7, 0x40020, 9, 2, 8, 0x4003b, 9, 0xa, 2, 0x40015, 0xb, 0x20, 1,
	0x4002b, 0xb, 0xc, 0, 0x3001d, 0xd, 6, 0x3001e, 0xe, 0xd, 0x40020, 0xf, 2, 0xe, 0x4003b, 0xf, 0x10, 2, 0x40020,
	0x11, 2, 6, 0x50036, 2, 4, 0, 3, 0x200f8, 5, 0x60041, 0x11, 0x12, 0x10, 0xc, 0xc, 0x4003d, 6, 0x13, 0x12, 0x60041,
	0x11, 0x14, 0xa, 0xc, 0xc, 0x3003e, 0x14, 0x13, 0x100fd, 0x10038,
};

// A pipeline of the shader, and its descriptors.
struct kernel {
	VkDescriptorSetLayout bindings;
	VkPipelineLayout layout;
	VkPipeline pipeline;
	VkDescriptorPool pool;
	VkDescriptorSet set;
};

static struct kernel make_kernel(struct gpu *g) {
	struct kernel k;
	VkDescriptorSetLayoutBinding list[2];
	for (uint32_t i = 0; i < 2; i++)
		list[i] = (VkDescriptorSetLayoutBinding){.binding = i, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
			.descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
	VkDescriptorSetLayoutCreateInfo bindings = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 2, .pBindings = list};
	CHECK(vkCreateDescriptorSetLayout(g->device, &bindings, NULL, &k.bindings));
	VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
		.pSetLayouts = &k.bindings};
	CHECK(vkCreatePipelineLayout(g->device, &layout, NULL, &k.layout));
	VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof shader,
		.pCode = shader};
	VkShaderModule module;
	CHECK(vkCreateShaderModule(g->device, &code, NULL, &module));
	VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = k.layout,
		.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = module, .pName = "main"}};
	CHECK(vkCreateComputePipelines(g->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &k.pipeline));
	vkDestroyShaderModule(g->device, module, NULL);
	VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 2};
	VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1,
		.poolSizeCount = 1, .pPoolSizes = &size};
	CHECK(vkCreateDescriptorPool(g->device, &pool, NULL, &k.pool));
	VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = k.pool,
		.descriptorSetCount = 1, .pSetLayouts = &k.bindings};
	CHECK(vkAllocateDescriptorSets(g->device, &set, &k.set));
	return k;
}

static void destroy_kernel(struct gpu *g, struct kernel *k) {
	vkDestroyDescriptorPool(g->device, k->pool, NULL);
	vkDestroyPipeline(g->device, k->pipeline, NULL);
	vkDestroyPipelineLayout(g->device, k->layout, NULL);
	vkDestroyDescriptorSetLayout(g->device, k->bindings, NULL);
}

static void give(struct gpu *g, struct kernel *k, uint32_t binding, VkBuffer buffer) {
	VkDescriptorBufferInfo whole = {.buffer = buffer, .range = VK_WHOLE_SIZE};
	VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = k->set,
		.dstBinding = binding, .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.pBufferInfo = &whole};
	vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
}

int main(void) {
	struct gpu g;
	open_gpu(&g, NULL);
	struct block from = plain(&g, 1024), to = plain(&g, 1024);
	struct kernel k = make_kernel(&g);
	give(&g, &k, 0, from.buffer);
	give(&g, &k, 1, to.buffer);
	begin(&g);
	vkCmdFillBuffer(g.commands, from.buffer, 0, 1024, 7);
	CORRECT(order(g.commands);)
	vkCmdBindPipeline(g.commands, VK_PIPELINE_BIND_POINT_COMPUTE, k.pipeline);
	vkCmdBindDescriptorSets(g.commands, VK_PIPELINE_BIND_POINT_COMPUTE, k.layout, 0, 1, &k.set, 0, NULL);
	vkCmdDispatch(g.commands, 1, 1, 1);
	barrier(&g);
	submit(g.queue, g.commands, NULL, NULL, NULL);
	CHECK(vkDeviceWaitIdle(g.device));
	CORRECT(if (*(uint32_t *)map(&g, to.memory) != 7) return WRONG;)
	destroy_kernel(&g, &k);
	free_block(&g, &from);
	free_block(&g, &to);
	close_gpu(&g);
	return 0;
}
