package profile

import (
	"slices"

	"farside/internal/vk"
)

// limits14 is what Vulkan 1.4 requires of limits beyond the table of all versions (chapter "Limits", table "Required
// Limits"), as far as its rows are numbers.
var limits14 = []bound{
	{limit: "maxImageDimension1D", least: 8192},
	{limit: "maxImageDimension2D", least: 8192},
	{limit: "maxImageDimension3D", least: 512},
	{limit: "maxImageDimensionCube", least: 8192},
	{limit: "maxImageArrayLayers", least: 2048},
	{limit: "maxUniformBufferRange", least: 65536},
	{limit: "maxPushConstantsSize", least: 256},
	{limit: "bufferImageGranularity", least: 4096, most: true},
	{limit: "maxBoundDescriptorSets", least: 7},
	{limit: "maxPerStageDescriptorUniformBuffers", least: 15},
	{limit: "maxPerStageResources", least: 200},
	{limit: "maxDescriptorSetUniformBuffers", least: 90},
	{limit: "maxDescriptorSetStorageBuffers", least: 96},
	{limit: "maxDescriptorSetStorageImages", least: 144},
	{limit: "maxFragmentCombinedOutputResources", least: 16},
	{limit: "maxComputeWorkGroupInvocations", least: 256},
	{limit: "maxComputeWorkGroupSize", least: 64},
	{limit: "subTexelPrecisionBits", least: 8},
	{limit: "mipmapPrecisionBits", least: 6},
	{limit: "maxSamplerLodBias", least: 14},
	{limit: "maxFramebufferWidth", least: 7680},
	{limit: "maxFramebufferHeight", least: 7680},
	{limit: "maxViewportDimensions", least: 7680},
	{limit: "maxColorAttachments", least: 8},
	{limit: "pointSizeGranularity", least: 0.125, most: true},
	{limit: "lineWidthGranularity", least: 0.5, most: true},
	{limit: "timestampComputeAndGraphics", least: 1},
	{limit: "standardSampleLocations", least: 1},
	{limit: "maxPushDescriptors", least: 32},
}

// meets says whether what is left of a device has what a version requires: its features, queues for graphics, limits.
// A profile that claims no version has the latest that it meets, so that it may be less than the driver's own.
func (d *Device) meets(own *Own, version uint32) bool {
	graphics := func(f Family) bool { return f.Flags&own.QueueFlags&vk.QUEUE_GRAPHICS_BIT != 0 }
	families := d.Families
	if families == nil {
		families = own.Families
	}
	if version == 0 || !slices.ContainsFunc(families, graphics) {
		return false
	}
	has := func(feature string) bool { return own.Features[feature] && d.claims(feature) }
	for _, r := range registry().requirements {
		v, ok := versionNumber(r.provider)
		// What depends on something is a feature's that the driver lacks, or an extension's of an earlier version.
		if ok && v <= version && r.depends == "" && !slices.ContainsFunc(r.features, has) {
			return false
		}
	}
	return !slices.ContainsFunc(limits14, func(b bound) bool { return len(d.beyond(b, b.least)) != 0 })
}

// beyond returns the numbers that a device claims of a limit and that are less than least allows.
func (d *Device) beyond(b bound, least float64) (list []float64) {
	members, err := registry().find(b.limit)
	if err != nil {
		return nil // a registry without it
	}
	v, ok := d.Values[members[0].key()]
	if !ok {
		return nil
	}
	for _, x := range members[0].numbers(v) {
		if b.most && x > least || !b.most && x < least {
			list = append(list, x)
		}
	}
	return list
}
