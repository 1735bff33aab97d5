package icd

import (
	"slices"
	"sync"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/vk"
)

// surface is a VkSurfaceKHR. There is one kind: VK_EXT_headless_surface, on which a presented image goes nowhere.
type surface struct {
	handle   uint64
	instance *instance
	made     *origin // with FARSIDE_STRICT=leaks

	mu         sync.Mutex
	current    *swapchain // the one that isn't retired; nil: none. Guarded by mu
	swapchains int        // that were not destroyed. Guarded by mu
}

const (
	// A presented image is free at once (package present), so one is enough.
	minSwapchainImages = 1
	// maxSwapchainImages bounds what a wrong number makes of memory.
	maxSwapchainImages = 64

	surfaceUsages = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT | vk.IMAGE_USAGE_SAMPLED_BIT |
		vk.IMAGE_USAGE_STORAGE_BIT | vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT
	surfaceTransforms = vk.SURFACE_TRANSFORM_IDENTITY_BIT_KHR
	surfaceAlphas     = vk.COMPOSITE_ALPHA_OPAQUE_BIT_KHR | vk.COMPOSITE_ALPHA_INHERIT_BIT_KHR

	// anyExtent is what says that a surface is as large as its swapchain's images.
	anyExtent = 1<<32 - 1
)

// surfaceFormats are those of which images are presented: window systems have them, too.
var surfaceFormats = []vk.SurfaceFormatKHR{
	{Format: vk.FORMAT_B8G8R8A8_UNORM, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
	{Format: vk.FORMAT_B8G8R8A8_SRGB, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
	{Format: vk.FORMAT_R8G8B8A8_UNORM, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
	{Format: vk.FORMAT_R8G8B8A8_SRGB, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
	{Format: vk.FORMAT_A2B10G10R10_UNORM_PACK32, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
	{Format: vk.FORMAT_R16G16B16A16_SFLOAT, ColorSpace: vk.COLOR_SPACE_SRGB_NONLINEAR_KHR},
}

func createHeadlessSurfaceEXT(
	i *instance, _ *vk.HeadlessSurfaceCreateInfoEXT, _ *vk.AllocationCallbacks, out *vk.SurfaceKHR,
) vk.Result {
	s := &surface{instance: i}
	if finding.On(config.StrictLeaks) {
		s.made = here()
	}
	s.handle = surfaces.Insert(s)
	*out = vk.SurfaceKHR(s.handle)
	return vk.SUCCESS
}

func destroySurfaceKHR(i *instance, s *surface, _ *vk.AllocationCallbacks) {
	if s == nil || surfaces.Remove(s.handle) == nil {
		return
	}
	s.mu.Lock()
	left := s.swapchains
	s.mu.Unlock()
	if left > 0 {
		i.fail("vkDestroySurfaceKHR", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroySurfaceKHR_surface_01266,
			"%d swapchains of the surface were not destroyed before it", left), s.object())
	}
	i.names.Delete(s.object())
}

func (s *surface) object() object { return object{vk.OBJECT_TYPE_SURFACE_KHR, s.handle} }

// destroySurfaces ends the surfaces that an instance is destroyed with.
func (i *instance) destroySurfaces() {
	for h, s := range surfaces.All() {
		if s.instance != i || surfaces.Remove(h) == nil {
			continue
		}
		if finding.On(config.StrictLeaks) {
			i.find(finding.LeakedObject, s.made.Place(), s.made.Lines("made"), []object{s.object()},
				"the instance is destroyed, and VkSurfaceKHR was not")
		}
		i.fail("vkDestroyInstance", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyInstance_instance_00629,
			"a surface of this instance was not destroyed"), s.object())
	}
}

// claim makes c the surface's swapchain in the place of old, which may be nil. old is retired, whatever happens.
func (s *surface) claim(c, old *swapchain) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old != nil {
		if old.surface != s || !old.chain.Retire() {
			return vk.Errorf(vk.ERROR_NATIVE_WINDOW_IN_USE_KHR, vk.VUID_VkSwapchainCreateInfoKHR_oldSwapchain_01933,
				"oldSwapchain %#x is retired already, or of another surface", old.handle)
		}
		s.current = nil
	}
	if s.current != nil {
		return vk.Errorf(vk.ERROR_NATIVE_WINDOW_IN_USE_KHR, vk.VUID_VkSwapchainCreateInfoKHR_oldSwapchain_01933,
			"the surface has swapchain %#x, which is not passed as oldSwapchain", s.current.handle)
	}
	s.current = c
	s.swapchains++
	return nil
}

// leave is the end of a swapchain that has claimed the surface.
func (s *surface) leave(c *swapchain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swapchains--
	if s.current == c {
		s.current = nil
	}
}

// presents says whether the device's queues can present images. Swapchains have color attachments without exception
// (VkSurfaceCapabilitiesKHR::supportedUsageFlags), so it takes graphics. Which family does it makes no difference.
func (p *physicalDevice) presents() bool { return p.supports(vk.KHR_SWAPCHAIN_EXTENSION_NAME) }

// asks holds a question about a surface to the rules that the surface is there, and supported.
func (p *physicalDevice) asks(command string, s *surface, none, unsupported vk.VUID) vk.Result {
	objects := []object{{vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(p.handle)}}
	switch {
	case s == nil:
		return p.instance.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, none, "no surface is named"), objects...)
	case !p.presents():
		return p.instance.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, unsupported,
			"no queue family of the device can present to the surface"), append(objects, s.object())...)
	}
	return vk.SUCCESS
}

func getPhysicalDeviceSurfaceSupportKHR(p *physicalDevice, family uint32, s *surface, out *vk.Bool32) vk.Result {
	*out = bool32(p.presents())
	if family >= uint32(len(p.families)) {
		*out = vk.FALSE
		return p.instance.fail("vkGetPhysicalDeviceSurfaceSupportKHR", vk.Errorf(vk.ERROR_UNKNOWN,
			vk.VUID_vkGetPhysicalDeviceSurfaceSupportKHR_queueFamilyIndex_01269,
			"queue family %d does not exist, there are %d", family, len(p.families)), s.object())
	}
	return vk.SUCCESS
}

func getPhysicalDeviceSurfaceCapabilitiesKHR(
	p *physicalDevice, s *surface, out *vk.SurfaceCapabilitiesKHR,
) vk.Result {
	if r := p.asks("vkGetPhysicalDeviceSurfaceCapabilitiesKHR", s, vk.NoVUID,
		vk.VUID_vkGetPhysicalDeviceSurfaceCapabilitiesKHR_surface_06211); r != vk.SUCCESS {
		return r
	}
	p.surfaceCapabilities(out)
	return vk.SUCCESS
}

func (p *physicalDevice) surfaceCapabilities(out *vk.SurfaceCapabilitiesKHR) {
	most := p.limits.MaxImageDimension2D
	*out = vk.SurfaceCapabilitiesKHR{
		MinImageCount: minSwapchainImages, MaxImageCount: maxSwapchainImages,
		CurrentExtent:  vk.Extent2D{Width: anyExtent, Height: anyExtent},
		MinImageExtent: vk.Extent2D{Width: 1, Height: 1}, MaxImageExtent: vk.Extent2D{Width: most, Height: most},
		MaxImageArrayLayers: 1,
		SupportedTransforms: surfaceTransforms, CurrentTransform: surfaceTransforms,
		SupportedCompositeAlpha: surfaceAlphas,
		SupportedUsageFlags:     surfaceUsages,
	}
}

func getPhysicalDeviceSurfaceCapabilities2KHR(
	p *physicalDevice, info *vk.PhysicalDeviceSurfaceInfo2KHR, out *vk.SurfaceCapabilities2KHR,
) vk.Result {
	const command = "vkGetPhysicalDeviceSurfaceCapabilities2KHR"
	if r := p.asks(command, surfaces.Get(uint64(info.Surface)),
		vk.VUID_vkGetPhysicalDeviceSurfaceCapabilities2KHR_pSurfaceInfo_06521,
		vk.VUID_vkGetPhysicalDeviceSurfaceCapabilities2KHR_pSurfaceInfo_06522); r != vk.SUCCESS {
		return r
	}
	p.surfaceCapabilities(&out.SurfaceCapabilities)
	mode := vk.Find[vk.SurfacePresentModeKHR](info.PNext)
	if mode != nil && !slices.Contains(p.presentModes(), mode.PresentMode) {
		return p.instance.fail(command, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSurfacePresentModeKHR_presentMode_07780,
			"%v is no mode of the surface", mode.PresentMode), object{vk.OBJECT_TYPE_SURFACE_KHR, uint64(info.Surface)})
	}
	if s := vk.Find[vk.SurfacePresentScalingCapabilitiesKHR](out.PNext); s != nil {
		// A surface that is as large as the images has nothing to scale.
		s.SupportedPresentScaling, s.SupportedPresentGravityX, s.SupportedPresentGravityY = 0, 0, 0
		s.MinScaledImageExtent = out.SurfaceCapabilities.MinImageExtent
		s.MaxScaledImageExtent = out.SurfaceCapabilities.MaxImageExtent
	}
	if c := vk.Find[vk.SurfacePresentModeCompatibilityKHR](out.PNext); c != nil {
		if mode == nil {
			c.PresentModeCount = 0
			return p.instance.fail(command, vk.Errorf(vk.ERROR_UNKNOWN,
				vk.VUID_vkGetPhysicalDeviceSurfaceCapabilities2KHR_pNext_07776,
				"with which mode others shall be compatible is not said"),
				object{vk.OBJECT_TYPE_SURFACE_KHR, uint64(info.Surface)})
		}
		vk.WriteArray(&c.PresentModeCount, c.PPresentModes, p.compatibleModes(mode.PresentMode))
	}
	if i := vk.Find[vk.SurfaceCapabilitiesPresentId2KHR](out.PNext); i != nil {
		i.PresentId2Supported = bool32(p.supports(vk.KHR_PRESENT_ID_2_EXTENSION_NAME))
	}
	if w := vk.Find[vk.SurfaceCapabilitiesPresentWait2KHR](out.PNext); w != nil {
		w.PresentWait2Supported = bool32(p.supports(vk.KHR_PRESENT_WAIT_2_EXTENSION_NAME))
	}
	return vk.SUCCESS
}

func getPhysicalDeviceSurfaceFormatsKHR(
	p *physicalDevice, s *surface, count *uint32, out *vk.SurfaceFormatKHR,
) vk.Result {
	if r := p.asks("vkGetPhysicalDeviceSurfaceFormatsKHR", s,
		vk.VUID_vkGetPhysicalDeviceSurfaceFormatsKHR_surface_06524,
		vk.VUID_vkGetPhysicalDeviceSurfaceFormatsKHR_surface_06525); r != vk.SUCCESS {
		*count = 0
		return r
	}
	return vk.WriteArray(count, out, surfaceFormats)
}

func getPhysicalDeviceSurfaceFormats2KHR(
	p *physicalDevice, info *vk.PhysicalDeviceSurfaceInfo2KHR, count *uint32, out *vk.SurfaceFormat2KHR,
) vk.Result {
	if r := p.asks("vkGetPhysicalDeviceSurfaceFormats2KHR", surfaces.Get(uint64(info.Surface)),
		vk.VUID_vkGetPhysicalDeviceSurfaceFormats2KHR_pSurfaceInfo_06521,
		vk.VUID_vkGetPhysicalDeviceSurfaceFormats2KHR_pSurfaceInfo_06522); r != vk.SUCCESS {
		*count = 0
		return r
	}
	all := uint32(len(surfaceFormats))
	if out == nil {
		*count = all
		return vk.SUCCESS
	}
	*count = min(*count, all)
	for i := range vk.Slice(out, *count) { // sType and pNext are the application's
		vk.Slice(out, *count)[i].SurfaceFormat = surfaceFormats[i]
	}
	if *count < all {
		return vk.INCOMPLETE
	}
	return vk.SUCCESS
}

// presentModes are the modes in which the device presents. A device without the extension of one doesn't list it.
func (p *physicalDevice) presentModes() []vk.PresentModeKHR {
	list := []vk.PresentModeKHR{vk.PRESENT_MODE_FIFO_KHR, vk.PRESENT_MODE_FIFO_RELAXED_KHR,
		vk.PRESENT_MODE_MAILBOX_KHR, vk.PRESENT_MODE_IMMEDIATE_KHR}
	if p.supports(vk.KHR_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME) ||
		p.supports(vk.EXT_PRESENT_MODE_FIFO_LATEST_READY_EXTENSION_NAME) {
		list = append(list, vk.PRESENT_MODE_FIFO_LATEST_READY_KHR)
	}
	return list
}

// compatibleModes are all modes, since nothing but the order of frames differs. The one that is asked about is the
// first, so that it is among them in an array that has no room for all.
func (p *physicalDevice) compatibleModes(mode vk.PresentModeKHR) []vk.PresentModeKHR {
	list := p.presentModes()
	at := slices.Index(list, mode)
	list[0], list[at] = list[at], list[0]
	return list
}

func getPhysicalDeviceSurfacePresentModesKHR(
	p *physicalDevice, s *surface, count *uint32, out *vk.PresentModeKHR,
) vk.Result {
	if r := p.asks("vkGetPhysicalDeviceSurfacePresentModesKHR", s,
		vk.VUID_vkGetPhysicalDeviceSurfacePresentModesKHR_surface_06524,
		vk.VUID_vkGetPhysicalDeviceSurfacePresentModesKHR_surface_06525); r != vk.SUCCESS {
		*count = 0
		return r
	}
	return vk.WriteArray(count, out, p.presentModes())
}

// getPhysicalDevicePresentRectanglesKHR answers with all of the surface.
func getPhysicalDevicePresentRectanglesKHR(p *physicalDevice, s *surface, count *uint32, out *vk.Rect2D) vk.Result {
	if r := p.asks("vkGetPhysicalDevicePresentRectanglesKHR", s, vk.NoVUID,
		vk.VUID_vkGetPhysicalDevicePresentRectanglesKHR_surface_06211); r != vk.SUCCESS {
		*count = 0
		return r
	}
	return vk.WriteArray(count, out, []vk.Rect2D{{Extent: vk.Extent2D{Width: anyExtent, Height: anyExtent}}})
}

// groupPresentModes are the ways in which a device group presents: each physical device its own images.
const groupPresentModes = vk.DEVICE_GROUP_PRESENT_MODE_LOCAL_BIT_KHR

func getDeviceGroupPresentCapabilitiesKHR(d *device, out *vk.DeviceGroupPresentCapabilitiesKHR) vk.Result {
	clear(out.PresentMask[:])
	for i := range d.members {
		out.PresentMask[i] = 1 << i
	}
	out.Modes = groupPresentModes
	return vk.SUCCESS
}

func getDeviceGroupSurfacePresentModesKHR(
	d *device, s *surface, out *vk.DeviceGroupPresentModeFlagsKHR,
) vk.Result {
	*out = 0
	for _, p := range d.members {
		if r := p.asks("vkGetDeviceGroupSurfacePresentModesKHR", s, vk.NoVUID,
			vk.VUID_vkGetDeviceGroupSurfacePresentModesKHR_surface_06212); r != vk.SUCCESS {
			return r
		}
	}
	*out = groupPresentModes
	return vk.SUCCESS
}
