package compute

import (
	"fmt"
	"strings"
	"testing"

	"farside/spirv"
)

// TestDynamicIndexing indexes arrays of descriptors of each kind, on devices with and without the feature for indices
// that are no constants. FFmpeg's filters do that without it.
func TestDynamicIndexing(t *testing.T) {
	for _, kind := range []struct {
		name, declaration, use string
		dynamic, nonUniform    spirv.Capability
	}{
		{"storage buffers", "buffer B { uint x; } d[4]", "d[K].x",
			spirv.CapabilityStorageBufferArrayDynamicIndexing, spirv.CapabilityStorageBufferArrayNonUniformIndexing},
		{"uniform buffers", "uniform B { uint x; } d[4]", "d[K].x",
			spirv.CapabilityUniformBufferArrayDynamicIndexing, spirv.CapabilityUniformBufferArrayNonUniformIndexing},
		{"sampled images", "uniform usampler2D d[4]", "texelFetch(d[K], ivec2(0), 0).x",
			spirv.CapabilitySampledImageArrayDynamicIndexing, spirv.CapabilitySampledImageArrayNonUniformIndexing},
		{"storage images", "uniform uimage2D d[4]", "imageLoad(d[K], ivec2(0)).x",
			spirv.CapabilityStorageImageArrayDynamicIndexing, spirv.CapabilityStorageImageArrayNonUniformIndexing},
		{"uniform texel buffers", "uniform usamplerBuffer d[4]", "texelFetch(d[K], 0).x",
			spirv.CapabilityUniformTexelBufferArrayDynamicIndexing, spirv.CapabilityUniformTexelBufferArrayNonUniformIndexing},
		{"storage texel buffers", "uniform uimageBuffer d[4]", "imageLoad(d[K], 0).x",
			spirv.CapabilityStorageTexelBufferArrayDynamicIndexing, spirv.CapabilityStorageTexelBufferArrayNonUniformIndexing},
	} {
		format := ""
		if strings.Contains(kind.use, "imageLoad") {
			format = ",r32ui"
		}
		for _, by := range []struct {
			name, function, body string
			constant             bool
		}{
			{"a constant that is handed on", "x = GET;", "r = read(1) + read(2);", true},
			{"a constant in a loop", "for (uint n = 0; n < a[0]; n++) x += GET;", "r = read(3);", true},
			{"a constant on one of two ways", "if (a[1] > 7) { x = a[2]; k = 2; } else k = 2; x += GET;", "r = read(3);", true},
			{"what is read", "x = GET;", "r = read(int(a[0] & 3u));", false},
			{"a counter", "for (; k < 4 + int(a[0]); k++) x += GET;", "r = read(0);", false},
			{"one of two constants", "if (a[1] > 7) k = 1; x = GET;", "r = read(3);", false},
		} {
			declared := fmt.Sprintf("layout(set=0,binding=3%s) %s;\nuint read(int k) { uint x = 0; %s return x; }\n", format,
				kind.declaration,
				strings.ReplaceAll(by.function, "GET", strings.ReplaceAll(kind.use, "K", "k")))
			m, err := spirv.Decode(glslWords(t, shader(32, declared, by.body)))
			if err != nil {
				t.Fatal(err)
			}
			for _, has := range []map[spirv.Capability]bool{nil, {}, {kind.dynamic: true}, {kind.nonUniform: true}} {
				p, err := Compile(m, "main", Options{SubgroupSize: 32, Capabilities: has})
				if err != nil {
					t.Fatalf("%s by %s with %v: %v", kind.name, by.name, has, err)
				}
				if by.constant || has == nil || len(has) > 0 {
					if p.Warnings != nil {
						t.Errorf("%s by %s with %v: %q", kind.name, by.name, has, p.Warnings)
					}
					continue
				}
				want := fmt.Sprintf("is not a constant, but the feature of the capability %v is not enabled", kind.dynamic)
				if len(p.Warnings) != 1 || !strings.HasSuffix(p.Warnings[0].Text, want) ||
					!strings.HasPrefix(p.Warnings[0].VUID.String(), "VUID-StandaloneSpirv-") {
					t.Errorf("%s by %s: warnings %q, want %q", kind.name, by.name, p.Warnings, want)
				}
			}
		}
	}
}
