package exec

import (
	"math"

	"farside/internal/vk"
)

// Limits of viewports; icd reports them.
const (
	MaxViewportDimension = 1 << 14 // maxViewportDimensions, both
	MaxViewportBound     = 1 << 15 // viewportBoundsRange goes from its negative to it
)

// CheckViewport holds a viewport to its rules. None lets a NaN through.
func CheckViewport(v *vk.Viewport) error {
	within := func(x, least, most float32) bool { return x >= least && x <= most }
	switch {
	case !(v.Width > 0):
		return invalid(vk.VUID_VkViewport_width_01770, "the width of a viewport is %v", v.Width)
	case v.Width > MaxViewportDimension:
		return invalid(vk.VUID_VkViewport_width_01771, "the width of a viewport, %v, is more than %d", v.Width,
			MaxViewportDimension)
	case !within(v.Height, -MaxViewportDimension, MaxViewportDimension):
		return invalid(vk.VUID_VkViewport_height_01773, "the height of a viewport, %v, is more than %d", v.Height,
			MaxViewportDimension)
	case !(v.X >= -MaxViewportBound):
		return invalid(vk.VUID_VkViewport_x_01774, "a viewport begins at x %v", v.X)
	case !(v.X+v.Width <= MaxViewportBound):
		return invalid(vk.VUID_VkViewport_x_01232, "a viewport ends at x %v", v.X+v.Width)
	case !within(v.Y, -MaxViewportBound, MaxViewportBound):
		return invalid(vk.VUID_VkViewport_y_01775, "a viewport begins at y %v", v.Y)
	case !within(v.Y+v.Height, -MaxViewportBound, MaxViewportBound):
		return invalid(vk.VUID_VkViewport_y_01233, "a viewport ends at y %v", v.Y+v.Height)
	case !within(v.MinDepth, 0, 1):
		return invalid(vk.VUID_VkViewport_minDepth_01234, "minDepth of a viewport is %v", v.MinDepth)
	case !within(v.MaxDepth, 0, 1):
		return invalid(vk.VUID_VkViewport_maxDepth_01235, "maxDepth of a viewport is %v", v.MaxDepth)
	}
	return nil
}

// CheckClampRange holds a range of depths to its rules. None lets a NaN through.
func CheckClampRange(r *vk.DepthClampRangeEXT) error {
	switch {
	case !(r.MinDepthClamp <= r.MaxDepthClamp):
		return invalid(vk.VUID_VkDepthClampRangeEXT_pDepthClampRange_00999, "depths are clamped to %v and %v",
			r.MinDepthClamp, r.MaxDepthClamp)
	case !(r.MinDepthClamp >= 0):
		return invalid(vk.VUID_VkDepthClampRangeEXT_pDepthClampRange_09648, "minDepthClamp is %v", r.MinDepthClamp)
	case !(r.MaxDepthClamp <= 1):
		return invalid(vk.VUID_VkDepthClampRangeEXT_pDepthClampRange_09649, "maxDepthClamp is %v", r.MaxDepthClamp)
	}
	return nil
}

// CheckScissor holds a scissor to the rules of those who set one: it does not begin at negative coordinates, nor does
// its end overflow.
func CheckScissor(s *vk.Rect2D, begin, right, bottom vk.VUID) error {
	switch {
	case s.Offset.X < 0 || s.Offset.Y < 0:
		return invalid(begin, "a scissor begins at %d, %d", s.Offset.X, s.Offset.Y)
	case uint64(s.Offset.X)+uint64(s.Extent.Width) > math.MaxInt32:
		return invalid(right, "a scissor from x %d on is %d wide", s.Offset.X, s.Extent.Width)
	case uint64(s.Offset.Y)+uint64(s.Extent.Height) > math.MaxInt32:
		return invalid(bottom, "a scissor from y %d on is %d high", s.Offset.Y, s.Extent.Height)
	}
	return nil
}
