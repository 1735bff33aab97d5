#version 450
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
// Message passing: a payload is written, then a flag is released; who acquires the flag sees the payload. Each workgroup
// passes to the next, in the order in which they come to run, so that none waits for one that has not begun.
layout(local_size_x = 32) in;
layout(std430, binding = 0) coherent buffer Data { uint ticket; uint failures; uint done; uint flags[GROUPS + 1]; uint payload[(GROUPS + 1) * 32]; };
shared uint mine;
void main() {
	uint lane = gl_LocalInvocationIndex;
	if (lane == 0)
		mine = atomicAdd(ticket, 1);
	barrier();
	uint turn = mine;
	if (turn > 0) {
		if (lane == 0)
			while (atomicLoad(flags[turn], gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, gl_SemanticsAcquire | gl_SemanticsMakeVisible) == 0)
				;
		controlBarrier(gl_ScopeWorkgroup, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
			gl_SemanticsAcquireRelease | gl_SemanticsMakeVisible | gl_SemanticsMakeAvailable);
		if (payload[turn * 32 + (lane + 1) % 32] != turn * 1000 + (lane + 1) % 32)
			atomicAdd(failures, 1);
	}
	payload[(turn + 1) * 32 + lane] = (turn + 1) * 1000 + lane;
	controlBarrier(gl_ScopeWorkgroup, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
		gl_SemanticsAcquireRelease | gl_SemanticsMakeVisible | gl_SemanticsMakeAvailable);
	if (lane == 0)
		atomicStore(flags[turn + 1], 1u, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, gl_SemanticsRelease | gl_SemanticsMakeAvailable);
	atomicAdd(done, 1);
}
