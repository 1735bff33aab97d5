package compute

import (
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/vmtest"
	"farside/internal/cpuid"
)

// regions are loops that lanes leave in their own time: through conditions, breaks, returns, and outer loops. Some go
// round so often that the code pauses.
var regions = map[string]string{
	"counter": `
	for (uint k = 0u; k < (a[i] & 63u); k++)
		r = r * 5u + k;`,
	"long": `
	uint n = (i & 7u) == 3u ? 30000u : a[i] & 31u;
	for (uint k = 0u; k < n; k++)
		r = (r ^ k) * 0x9e3779b1u;`,
	"same for all, long": `
	for (uint k = 0u; k < 20000u; k++)
		r = (r ^ k) * 0x9e3779b1u + i;`,
	"breaks": `
	for (uint k = 0u; k < 40u; k++) {
		if ((a[i] >> (k & 31u) & 3u) == 3u)
			break;
		if ((k & 1u) == (a[i] & 1u))
			continue;
		r += k * a[(i + k) & 63u];
	}`,
	"nested": `
	for (uint k = 0u; k < 9u; k++) {
		uint x = a[(i + k) & 63u] | 1u;
		while (x != 0u) {
			r = r * 3u + (x & 7u);
			if (r > 0xf0000000u)
				break;
			for (uint m = 0u; m < (x & 3u); m++)
				r ^= m << k;
			x >>= 2u;
		}
	}`,
	"return": `
	for (uint k = 0u; k < 50u; k++) {
		r = r * 7u + a[(i + k) & 63u];
		if ((r & 31u) == 5u) {
			result[i] = r;
			return;
		}
	}`,
	"same for all at the end, left in the middle": `
	uint k = 0u;
	do {
		r = r * 5u + a[(i + k) & 63u];
		if ((r & 15u) == 5u) {
			r ^= k << 4u;
			break;
		}
		r ^= r >> 3u;
		k++;
	} while (k < 12u);
	r += 3u;`,
	"bits": `
	for (uint k = 0u; k < (a[i] & 31u); k++) {
		uint x = r ^ a[(i + k) & 63u];
		r = r * 3u + uint(bitCount(x)) + (bitfieldReverse(x) >> (k & 7u));
		if (findLSB(x) == 5 || findMSB(x) == 7)
			continue;
		r += uint(findMSB(int(x)) + findLSB(r));
	}`,
	"around what is left to kernels": `
	for (uint k = 0u; k < 6u; k++) {
		for (uint m = 0u; m < (a[i] & 15u); m++)
			r = r * 9u + m;
		atomicAdd(result[1023u], r & 0u);
		for (uint m = k; m < 12u; m++)
			if ((r >> m & 1u) == 1u)
				r += m;
	}`,
	"a stack": `
	uint stack[8];
	int depth = 1;
	stack[0] = a[i];
	while (depth > 0) {
		uint x = stack[--depth];
		r = r * 31u + x;
		if (depth < 6 && (x & 7u) > 1u) {
			stack[depth++] = x >> 3u;
			stack[depth++] = x >> 5u;
		}
	}`,
	"elements by indices and by their numbers": `
	uint t[9], u[5];
	for (uint k = 0u; k < 9u; k++)
		t[k] = a[(i + k) & 63u];
	u[0] = 1u; u[1] = i; u[2] = 7u; u[3] = 0u; u[4] = 5u;
	for (uint k = 0u; k < (a[i] & 15u) + 5u; k++) {
		t[8] = t[r % 9u] ^ u[k % 5u];
		t[k % 9u] += t[3] * 5u + k;
		if ((t[8] & 3u) == 1u)
			t[2] = u[4] + k;
		u[r & 3u] = t[2];
		r = r * 31u + t[8] + t[2];
	}`,
	"arrays of 64 bits": `
	uint64_t t[9];
	double d[6];
	for (uint k = 0u; k < 9u; k++)
		t[k] = packUint2x32(uvec2(a[(i + k) & 63u], k));
	for (uint k = 0u; k < 6u; k++)
		d[k] = double(i + k);
	for (uint k = 0u; k < (a[i] & 15u) + 5u; k++) {
		t[8] = t[r % 9u] * 0x9E3779B185EBCA87ul;
		t[k % 9u] += t[3] + uint64_t(k);
		if ((uint(t[8] >> 40) & 3u) == 1u)
			t[(r >> 5) % 9u] = t[2] ^ uint64_t(i);
		d[r % 6u] = d[k % 6u] * 0.5lf + d[1];
		d[4] += double(int(t[8] >> 34));
		r = r * 31u + uint(t[8] >> 32) + uint(int(d[r % 6u] * 1e-9lf));
	}`,
	"a branch in rounds that all lanes do": `
	for (uint k = 0u; k < 40u; k++) {
		if ((r & 3u) == 1u) {
			result[256u + i * 4u] = k;
			r = r * 3u + a[(i + k) & 63u];
		}
		r += a[k & 63u];
	}`,
	"a switch at the end of rounds that all lanes do": `
	uint s[4] = uint[4](i, 1u, 2u, 3u);
	for (uint k = 0u; k < 20u; k++) {
		r = r * 1664525u + a[(i + k) & 63u];
		uint w;
		switch (r >> 5u & 7u) {
		case 0u: s[0] += r; w = s[1]; break;
		case 1u: s[1] ^= r << 3u; w = s[2] + 1u; break;
		case 2u: s[2] -= r;
		case 3u: s[3] += s[0]; w = 5u; break;
		case 4u: for (uint m = 0u; m < (r & 7u); m++) s[m & 3u] += m; w = 7u; break;
		default: s[(r >> 9u) & 3u] = r * 7u; w = r ^ s[0];
		}
		r ^= w;
	}
	r ^= s[0] ^ s[1] ^ s[2] ^ s[3];`,
	"a function of several returns in rounds that all lanes do": `
	for (uint k = 0u; k < 20u; k++)
		r = several(r + a[(i + k) & 63u], i);`,
	"values that all lanes share": `
	uint same = 1u;
	for (uint k = 0u; k < 40u; k++) {
		r = r * 3u + same;
		same = same * 5u + k;
		r ^= same >> 3u;
		same ^= same << 7u;
		r += same & a[i];
		if (k == 33u && (r & 1u) == 0u)
			break;
	}`,
	"a word that one lane writes": `
	for (uint k = 0u; k < (a[i & 32u] & 15u) + 9u; k++) {
		r = (r ^ r >> 3u) * 5u + i;
		if (i == 21u) {
			result[1000u] = r;
			r = (r ^ r >> 7u) * 5u + (result[1000u] ^ k);
		}
	}`,
	"long, around another": `
	for (uint k = 0u; k < 3u; k++) {
		uint n = (i & 31u) == 9u + 11u * k ? 20000u : a[i] & 15u;
		for (uint m = 0u; m < n; m++)
			if (((r ^= m) & 3u) != 0u)
				r = (r ^ k) * 0x9e3779b1u;
	}`,
	"stores": `
	for (uint k = 0u; k < (a[i] & 3u); k++) {
		result[256u + i * 4u + k] = k + r;
		r += result[256u + i * 4u] + 1u;
	}`,
	"integers of 64 bits": `
	uint64_t h = packUint2x32(uvec2(a[i], i)), same = 1ul;
	for (uint k = 0u; k < (a[i] & 31u); k++) {
		uint64_t x = h * 0x9E3779B185EBCA87ul ^ uint64_t(a[(i + k) & 63u]);
		if (x > h)
			h = x << 31 | x >> 33;
		else if (int64_t(x) < 0l)
			h += same + uint64_t(k);
		if ((h & 127ul) == 5ul)
			break;
	}
	for (uint k = 0u; k < 9u; k++) {
		same = same * 3ul + uint64_t(k);
		h ^= same >> (k & 3u) ^ h << (i & 63u);
	}
	r = uint(h) ^ uint(h >> 32);`,
	"floats of 64 bits": `
	double x = double(a[i]) * 1e-9, y = 0.0lf;
	for (uint k = 0u; k < (i & 31u); k++) {
		double z = x * x - y * y + 0.3lf;
		y = 2.0lf * x * y + double(float(k)) * 0.01lf;
		x = min(z, 4.0lf);
		if (x * x + y * y > 1e3lf)
			break;
		r += uint(abs(x)) + uint(int(y));
	}
	r ^= floatBitsToUint(float(x + sqrt(abs(y))));`,
	"quotients, moduli and exponents of 64 bits": `
	uint64_t h = packUint2x32(uvec2(a[i], i + 1u));
	for (uint k = 0u; k < (a[i] & 15u) + 1u; k++) {
		uint64_t d = uint64_t(a[(i + k) & 63u] & ~(k & 3u)) << (k & 31u);
		int64_t s = int64_t(h << 1) >> 3;
		h = (d == 0ul ? h : h / d ^ h % d << 17) * 0x9E3779B185EBCA87ul;
		if (d > 9ul)
			h ^= uint64_t(s / int64_t(d)) + uint64_t(s % int64_t(d));
		double x = double(h) - mod(double(s), 3.5lf) * double(int(i));
		int e;
		double f = frexp(x, e);
		x = ldexp(f, (e & 63) - 30) + floor(double(float(x)));
		h += uint64_t(abs(x)) + uint64_t(e);
		if (isinf(x) || isnan(x) || x == 0.5lf)
			break;
		r ^= floatBitsToUint(float(h)) + floatBitsToUint(float(s)) + uint(int64_t(x) >> 9);
	}
	r ^= uint(h) ^ uint(h >> 32);`,
	"more comparisons of 64 bits than are done for one pair before another": `
	double x = double(a[i]) * 1e-9, y = double(i) * 0.25lf;
	for (uint k = 0u; k < (a[i] & 7u) + 1u; k++) {` + strings.Repeat(`
		r = r * 3u + (x < y ? 1u : 2u);
		y = x > 2.0lf ? y + 0.5lf : y * 0.75lf;
		x = x * 1.25lf;`, 12) + `
		x -= y;
	}`,
}

// severalReturns is a function of regions that lanes return from at several places.
const severalReturns = `
uint several(uint x, uint i) {
	if ((x & 3u) == 1u)
		return x * 5u + i;
	for (uint m = 0u; m < (x >> 4u & 7u); m++) {
		x = x * 3u + m;
		if ((x & 31u) == 7u)
			return x ^ i;
	}
	if (x > 0x80000000u)
		return x >> 1u;
	return x + 9u;
}`

// TestRegions shows that loops in machine code do what they do by kernels, in all lanes of a workgroup and in some.
func TestRegions(t *testing.T) {
	for name, body := range regions {
		t.Run(name, func(t *testing.T) {
			for _, lanes := range []int{64, 60, 56, 40} { // 56: two pairs of chunks, a pair, and one
				for _, condition := range []string{"", "if ((a[i] & 4u) == 0u)"} {
					source := shader(lanes, severalReturns, condition+"{"+body+"}")
					source = strings.Replace(source, "readonly buffer In { uint a", "buffer In { uint a", 1)
					checkRegion(t, glslWords(t, source), lanes)
				}
			}
		})
	}
}

func checkRegion(t *testing.T, words []uint32, lanes int) {
	t.Helper()
	defer func(old func() cpuid.Features) { cpuid.X86 = old }(cpuid.X86)
	without := cpuid.X86()
	without.AVX512 = false
	ways := []string{"machine code", "narrow machine code", "machine code without AVX-512", "kernels"}
	results := make([][]uint32, len(ways))
	for k, way := range ways {
		if k == 2 {
			cpuid.X86 = func() cpuid.Features { return without }
		}
		p := compileWords(t, words, Options{NoNative: way == "kernels", Narrow: k == 1})
		in := make([]uint32, 64)
		for i := range in {
			in[i] = testInput(i) * 2654435761
		}
		results[k] = make([]uint32, 1024)
		mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{results[k], in}}))
		if k < 3 && kernel.Best().Name == "avx2" && !strings.Contains(planOf(t, p), " region to ") {
			t.Errorf("no loop is a region:\n%s\n%s", planOf(t, p), p)
		}
	}
	for k, way := range ways {
		for i, want := range results[3] {
			if results[k][i] != want {
				t.Fatalf("%d lanes, %s: word %d is %#x, by kernels %#x", lanes, way, i, results[k][i], want)
			}
		}
	}
}

// TestRegionsOfRounds: a loop that all lanes leave together is one region, wherever they meet before.
func TestRegionsOfRounds(t *testing.T) {
	if kernel.Best().Name != "avx2" {
		t.Skip("needs machine code")
	}
	for _, name := range []string{"a switch at the end of rounds that all lanes do",
		"a function of several returns in rounds that all lanes do"} {
		p := compileWords(t, glslWords(t, shader(64, severalReturns, regions[name])), Options{})
		if plan := planOf(t, p); strings.Count(plan, " region to ") != 1 || strings.Contains(plan, " enter") {
			t.Errorf("%s:\n%s\n%s", name, plan, p)
		}
	}
}
