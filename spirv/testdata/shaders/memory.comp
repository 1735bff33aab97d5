#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#pragma use_vulkan_memory_model
layout(local_size_x = 8, local_size_y = 8) in;
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Node;
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Node { Node next; vec3 value; int more[]; };
layout(set = 0, binding = 0, scalar) buffer A { vec3 x; float y; uint count; int64_t wide; Node head; } a;
layout(set = 0, binding = 1, std430) restrict readonly buffer C { vec4 items[]; } c[4];
struct Pair { vec2 first; int second[3]; };
layout(set = 0, binding = 2, std430) coherent buffer D { Pair pairs[8]; Pair rest[]; } d;
shared float tile[8][9];
shared uint counter;
shared Pair held;
int private[12];
void main() {
	uvec3 id = gl_LocalInvocationID;
	tile[id.y][id.x] = c[id.x & 3].items[gl_GlobalInvocationID.x].y;
	if (gl_LocalInvocationIndex == 0u) { counter = 0; held = d.pairs[3]; }
	barrier();
	memoryBarrierShared(); memoryBarrier(); groupMemoryBarrier(); memoryBarrierBuffer();
	atomicAdd(counter, 1u);
	uint old = atomicCompSwap(a.count, 3u, 4u);
	old += atomicMin(a.count, 1u) + atomicMax(a.count, 2u) + atomicAnd(a.count, 3u) + atomicOr(a.count, 4u) + atomicXor(a.count, 5u) + atomicExchange(a.count, 6u);
	atomicAdd(a.y, 1.5);
	a.wide += atomicAdd(a.wide, 5L);
	old += atomicLoad(a.count, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
	atomicStore(a.count, old, gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
	controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
	for (int i = 0; i < 12; i++)
		private[i] = i * int(old);
	Node n = a.head;
	for (int i = 0; i < 5 && uint64_t(n) != 0; i++) {
		n.value += vec3(tile[i][id.x]);
		n.more[i] = private[(old + i) % 12];
		n = n.next;
	}
	d.rest[id.x] = d.pairs[id.y];
	d.rest[id.x].second[id.y % 3] = d.rest.length() + c[1].items.length();
	d.pairs[0] = held;
	a.x.z = tile[id.x][id.y];
	a.x[id.x % 3] += 1.0;
}
