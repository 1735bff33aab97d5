package icd

import (
	"math"

	"farside/internal/exec"
	"farside/internal/vk"
)

// extendDrawLimits makes the limits of what draws have, on a device with graphics.
func extendDrawLimits(l *vk.PhysicalDeviceLimits) {
	const sizes = 1.0 / 8 // granularity of points and lines
	l.MaxClipDistances, l.MaxCullDistances, l.MaxCombinedClipAndCullDistances = 8, 8, 8
	l.MaxVertexInputAttributes, l.MaxVertexInputBindings = exec.MaxVertexAttributes, exec.MaxVertexBindings
	l.MaxVertexInputAttributeOffset, l.MaxVertexInputBindingStride = exec.MaxVertexOffset, exec.MaxVertexStride
	l.MaxVertexOutputComponents, l.MaxFragmentInputComponents = 4*exec.MaxInterface, 4*exec.MaxInterface
	l.MaxFragmentDualSrcAttachments = 1
	// Attachments beside what any stage may have.
	l.MaxFragmentCombinedOutputResources = l.MaxPerStageResources
	l.MaxDrawIndexedIndexValue, l.MaxDrawIndirectCount = math.MaxUint32, math.MaxUint32
	l.MaxViewports = exec.MaxViewports
	l.PointSizeRange, l.PointSizeGranularity = [2]float32{1, exec.MaxPointSize}, sizes
	l.StrictLines = vk.TRUE
	l.LineWidthRange, l.LineWidthGranularity = [2]float32{1, exec.MaxLineWidth}, sizes
}
