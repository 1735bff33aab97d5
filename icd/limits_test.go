package icd

import (
	"math"
	"reflect"
	"testing"
)

// kindOfLimit says how the required value bounds the reported one, as in the table "Required Limits".
type kindOfLimit int

const (
	atLeast kindOfLimit = iota
	atMost
	exactly
	powerAtLeast // and a power of two
	powerAtMost  // and a power of two
	withBits     // has at least the required bits
)

type requiredLimit struct {
	kind  kindOfLimit
	value float64
}

// requiredLimits is the specification's table for a device with none of the optional features, element by
// element for arrays.
var requiredLimits = map[string][]requiredLimit{
	"MaxImageDimension1D":                             {{atLeast, 4096}},
	"MaxImageDimension2D":                             {{atLeast, 4096}},
	"MaxImageDimension3D":                             {{atLeast, 256}},
	"MaxImageDimensionCube":                           {{atLeast, 4096}},
	"MaxImageArrayLayers":                             {{atLeast, 256}},
	"MaxTexelBufferElements":                          {{atLeast, 65536}},
	"MaxUniformBufferRange":                           {{atLeast, 16384}},
	"MaxStorageBufferRange":                           {{atLeast, 1 << 27}},
	"MaxPushConstantsSize":                            {{atLeast, 128}},
	"MaxMemoryAllocationCount":                        {{atLeast, 4096}},
	"MaxSamplerAllocationCount":                       {{atLeast, 4000}},
	"BufferImageGranularity":                          {{powerAtMost, 131072}},
	"SparseAddressSpaceSize":                          {{exactly, 0}},
	"MaxBoundDescriptorSets":                          {{atLeast, 4}},
	"MaxPerStageDescriptorSamplers":                   {{atLeast, 16}},
	"MaxPerStageDescriptorUniformBuffers":             {{atLeast, 12}},
	"MaxPerStageDescriptorStorageBuffers":             {{atLeast, 4}},
	"MaxPerStageDescriptorSampledImages":              {{atLeast, 16}},
	"MaxPerStageDescriptorStorageImages":              {{atLeast, 4}},
	"MaxPerStageDescriptorInputAttachments":           {{atLeast, 4}},
	"MaxPerStageResources":                            {{atLeast, 128}},
	"MaxDescriptorSetSamplers":                        {{atLeast, 96}},
	"MaxDescriptorSetUniformBuffers":                  {{atLeast, 72}},
	"MaxDescriptorSetUniformBuffersDynamic":           {{atLeast, 8}},
	"MaxDescriptorSetStorageBuffers":                  {{atLeast, 24}},
	"MaxDescriptorSetStorageBuffersDynamic":           {{atLeast, 4}},
	"MaxDescriptorSetSampledImages":                   {{atLeast, 96}},
	"MaxDescriptorSetStorageImages":                   {{atLeast, 24}},
	"MaxDescriptorSetInputAttachments":                {{atLeast, 4}},
	"MaxVertexInputAttributes":                        {{atLeast, 16}},
	"MaxVertexInputBindings":                          {{atLeast, 16}},
	"MaxVertexInputAttributeOffset":                   {{atLeast, 2047}},
	"MaxVertexInputBindingStride":                     {{atLeast, 2048}},
	"MaxVertexOutputComponents":                       {{atLeast, 64}},
	"MaxTessellationGenerationLevel":                  {{exactly, 0}},
	"MaxTessellationPatchSize":                        {{exactly, 0}},
	"MaxTessellationControlPerVertexInputComponents":  {{exactly, 0}},
	"MaxTessellationControlPerVertexOutputComponents": {{exactly, 0}},
	"MaxTessellationControlPerPatchOutputComponents":  {{exactly, 0}},
	"MaxTessellationControlTotalOutputComponents":     {{exactly, 0}},
	"MaxTessellationEvaluationInputComponents":        {{exactly, 0}},
	"MaxTessellationEvaluationOutputComponents":       {{exactly, 0}},
	"MaxGeometryShaderInvocations":                    {{exactly, 0}},
	"MaxGeometryInputComponents":                      {{exactly, 0}},
	"MaxGeometryOutputComponents":                     {{exactly, 0}},
	"MaxGeometryOutputVertices":                       {{exactly, 0}},
	"MaxGeometryTotalOutputComponents":                {{exactly, 0}},
	"MaxFragmentInputComponents":                      {{atLeast, 64}},
	"MaxFragmentOutputAttachments":                    {{atLeast, 4}},
	"MaxFragmentDualSrcAttachments":                   {{exactly, 0}},
	"MaxFragmentCombinedOutputResources":              {{atLeast, 4}},
	"MaxComputeSharedMemorySize":                      {{atLeast, 16384}},
	"MaxComputeWorkGroupCount":                        {{atLeast, 65535}, {atLeast, 65535}, {atLeast, 65535}},
	"MaxComputeWorkGroupInvocations":                  {{atLeast, 128}},
	"MaxComputeWorkGroupSize":                         {{atLeast, 128}, {atLeast, 128}, {atLeast, 64}},
	"SubPixelPrecisionBits":                           {{atLeast, 4}},
	"SubTexelPrecisionBits":                           {{atLeast, 4}},
	"MipmapPrecisionBits":                             {{atLeast, 4}},
	"MaxDrawIndexedIndexValue":                        {{atLeast, 1<<24 - 1}},
	"MaxDrawIndirectCount":                            {{exactly, 1}},
	"MaxSamplerLodBias":                               {{atLeast, 2}},
	"MaxSamplerAnisotropy":                            {{atLeast, 16}},
	"MaxViewports":                                    {{exactly, 1}},
	"MaxViewportDimensions":                           {{atLeast, 4096}, {atLeast, 4096}},
	"ViewportBoundsRange":                             {{atMost, -8192}, {atLeast, 8191}},
	"ViewportSubPixelBits":                            {{atLeast, 0}},
	"MinMemoryMapAlignment":                           {{powerAtLeast, 64}},
	"MinTexelBufferOffsetAlignment":                   {{powerAtMost, 256}},
	"MinUniformBufferOffsetAlignment":                 {{powerAtMost, 256}},
	"MinStorageBufferOffsetAlignment":                 {{powerAtMost, 256}},
	"MinTexelOffset":                                  {{atMost, -8}},
	"MaxTexelOffset":                                  {{atLeast, 7}},
	"MinTexelGatherOffset":                            {{atMost, -8}},
	"MaxTexelGatherOffset":                            {{atLeast, 7}},
	"MinInterpolationOffset":                          {{exactly, 0}},
	"MaxInterpolationOffset":                          {{exactly, 0}},
	"SubPixelInterpolationOffsetBits":                 {{exactly, 0}},
	"MaxFramebufferWidth":                             {{atLeast, 4096}},
	"MaxFramebufferHeight":                            {{atLeast, 4096}},
	"MaxFramebufferLayers":                            {{atLeast, 256}},
	"FramebufferColorSampleCounts":                    {{withBits, 5}},
	"FramebufferDepthSampleCounts":                    {{withBits, 5}},
	"FramebufferStencilSampleCounts":                  {{withBits, 5}},
	"FramebufferNoAttachmentsSampleCounts":            {{withBits, 5}},
	"MaxColorAttachments":                             {{atLeast, 4}},
	"SampledImageColorSampleCounts":                   {{withBits, 5}},
	"SampledImageIntegerSampleCounts":                 {{withBits, 5}},
	"SampledImageDepthSampleCounts":                   {{withBits, 5}},
	"SampledImageStencilSampleCounts":                 {{withBits, 5}},
	"StorageImageSampleCounts":                        {{exactly, 1}},
	"MaxSampleMaskWords":                              {{atLeast, 1}},
	"TimestampComputeAndGraphics":                     {{exactly, 1}}, // then every such queue has at least 36 bits
	"TimestampPeriod":                                 {{exactly, 1}},
	"MaxClipDistances":                                {{exactly, 0}},
	"MaxCullDistances":                                {{exactly, 0}},
	"MaxCombinedClipAndCullDistances":                 {{exactly, 0}},
	"DiscreteQueuePriorities":                         {{atLeast, 2}},
	"PointSizeRange":                                  {{exactly, 1}, {exactly, 1}},
	"LineWidthRange":                                  {{exactly, 1}, {exactly, 1}},
	"PointSizeGranularity":                            {{exactly, 0}},
	"LineWidthGranularity":                            {{exactly, 0}},
	"StrictLines":                                     {{exactly, 0}},
	"StandardSampleLocations":                         {{exactly, 0}},
	"OptimalBufferCopyOffsetAlignment":                {{powerAtMost, math.MaxUint32}},
	"OptimalBufferCopyRowPitchAlignment":              {{powerAtMost, math.MaxUint32}},
	"NonCoherentAtomSize":                             {{powerAtMost, 256}},
}

func TestLimitsMeetTheRequiredOnes(t *testing.T) {
	v := reflect.ValueOf(deviceLimits)
	checked := 0
	for n := range v.NumField() {
		name := v.Type().Field(n).Name
		if name == "_" {
			continue
		}
		required, ok := requiredLimits[name]
		if !ok {
			t.Errorf("%s has no required value in the test's table", name)
			continue
		}
		checked++
		for n, have := range numbers(t, v.Field(n)) {
			r := required[n]
			power := have >= 1 && math.Exp2(math.Floor(math.Log2(have))) == have
			good := false
			switch r.kind {
			case atLeast:
				good = have >= r.value
			case atMost:
				good = have <= r.value
			case exactly:
				good = have == r.value
			case powerAtLeast:
				good = power && have >= r.value
			case powerAtMost:
				good = power && have <= r.value
			case withBits:
				good = uint32(have)&uint32(r.value) == uint32(r.value)
			}
			if !good {
				t.Errorf("%s[%d] is %v, required is %+v", name, n, have, r)
			}
		}
	}
	if checked != len(requiredLimits) {
		t.Errorf("%d limits checked, the table has %d", checked, len(requiredLimits))
	}
	for n, d := range deviceLimits.MaxViewportDimensions {
		if d < max(deviceLimits.MaxFramebufferWidth, deviceLimits.MaxFramebufferHeight) {
			t.Errorf("maxViewportDimensions[%d] is %d, less than the framebuffer", n, d)
		}
		// [-2 x size, 2 x size - 1] (maxViewportDimensions, viewportBoundsRange)
		if float32(d)*-2 < deviceLimits.ViewportBoundsRange[0] || float32(d)*2-1 > deviceLimits.ViewportBoundsRange[1] {
			t.Errorf("viewportBoundsRange %v is narrower than twice %d", deviceLimits.ViewportBoundsRange, d)
		}
	}
}

// numbers returns the elements of an array, or the one value.
func numbers(t *testing.T, v reflect.Value) []float64 {
	t.Helper()
	switch v.Kind() {
	case reflect.Array:
		var list []float64
		for n := range v.Len() {
			list = append(list, numbers(t, v.Index(n))...)
		}
		return list
	case reflect.Float32:
		return []float64{v.Float()}
	case reflect.Int32:
		return []float64{float64(v.Int())}
	case reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return []float64{float64(v.Uint())}
	}
	t.Fatalf("a limit of kind %v", v.Kind())
	return nil
}
