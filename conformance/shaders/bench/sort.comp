#version 450
// A bitonic sort of 512 values in shared memory by each workgroup.
layout(local_size_x = 256) in;
layout(set=0,binding=1) buffer Out { uint y[]; };
layout(set=0,binding=0) readonly buffer In { uint x[]; };
shared uint s[512];
void main() {
	uint i = gl_LocalInvocationIndex, from = gl_WorkGroupID.x * 512u;
	s[i] = x[from + i];
	s[i + 256u] = x[from + i + 256u];
	for (uint size = 2u; size <= 512u; size *= 2u)
		for (uint distance = size / 2u; distance > 0u; distance /= 2u) {
			barrier();
			uint low = 2u * i - (i & (distance - 1u)), high = low + distance;
			uint a = s[low], b = s[high];
			if ((a > b) == ((low & size) == 0u)) {
				s[low] = b;
				s[high] = a;
			}
		}
	barrier();
	y[from + i] = s[i];
	y[from + i + 256u] = s[i + 256u];
}
