package icd

import (
	"testing"
	"unsafe"

	"farside/internal/exec"
	"farside/internal/texel"
	"farside/internal/vk"
)

// graphicsInstance is an instance whose devices have graphics.
func graphicsInstance(t testing.TB) *instance {
	t.Helper()
	t.Setenv("FARSIDE_GRAPHICS", "on")
	return testInstance(t, nil)
}

// withoutGraphics makes the devices of instances that follow have compute and transfers alone.
func withoutGraphics(t testing.TB) {
	t.Helper()
	t.Setenv("FARSIDE_GRAPHICS", "off")
}

// TestGraphicsOffers: what only devices with graphics have is there with FARSIDE_GRAPHICS, and not without.
func TestGraphicsOffers(t *testing.T) {
	withoutGraphics(t)
	without := testInstance(t, nil).devices[0]
	with := graphicsInstance(t).devices[0]
	for name := range graphicsFeatures {
		if without.hasFeature(name) || !with.hasFeature(name) {
			t.Errorf("feature %s: %v without graphics, %v with", name, without.hasFeature(name), with.hasFeature(name))
		}
	}
	for _, e := range graphicsExtensions {
		if without.supports(e.name) || !with.supports(e.name) {
			t.Errorf("%s: %v without graphics, %v with", e.name, without.supports(e.name), with.supports(e.name))
		}
	}
	if a, b := len(without.extensionProperties()), len(with.extensionProperties()); a+len(graphicsExtensions) != b {
		t.Errorf("%d extensions without graphics, %d with", a, b)
	}
	for _, p := range []*physicalDevice{without, with} { // a loader asks for the 30 KB again and again
		if n := testing.AllocsPerRun(10, func() { p.extensionProperties() }); n != 0 {
			t.Errorf("a list of extensions takes %v allocations", n)
		}
	}
	if l := without.limits.PhysicalDeviceLimits; l != deviceLimits {
		t.Errorf("limits without graphics are %+v", l)
	}
	l := with.limits.PhysicalDeviceLimits
	if l.PointSizeRange != [2]float32{1, exec.MaxPointSize} {
		t.Errorf("points are of sizes %v", l.PointSizeRange)
	}
	if l.MaxColorAttachments != 8 || l.FramebufferDepthSampleCounts != 13 || l.SampledImageIntegerSampleCounts != 13 {
		t.Errorf("limits with graphics are %+v", l)
	}
	if a, b := without.version(), with.version(); a != computeVersion || b != instanceVersion {
		t.Errorf("without graphics the version is %s, with %s", versionText(a), versionText(b))
	}
	modes := vk.PhysicalDeviceDepthStencilResolveProperties{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DEPTH_STENCIL_RESOLVE_PROPERTIES}
	p := vk.PhysicalDeviceProperties2{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
		PNext: unsafe.Pointer(&modes)}
	commands.GetPhysicalDeviceProperties2(without.handle, &p)
	if modes.SupportedDepthResolveModes != 0 {
		t.Errorf("without graphics depths are resolved by %v", modes.SupportedDepthResolveModes)
	}
	commands.GetPhysicalDeviceProperties2(with.handle, &p)
	if modes.SupportedDepthResolveModes != 15 || modes.SupportedStencilResolveModes != 13 {
		t.Errorf("resolved are depths by %v, stencils by %v", modes.SupportedDepthResolveModes,
			modes.SupportedStencilResolveModes)
	}
}

// TestAttachmentFormats: with graphics, every format that the codecs encode can be an attachment, but for a few; what a
// format can do otherwise stays.
func TestAttachmentFormats(t *testing.T) {
	p := graphicsInstance(t).devices[0]
	const color, blend, depth = vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT, vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT,
		vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT
	counts := map[vk.FormatFeatureFlags2]int{}
	for _, f := range vk.AllFormats {
		own, all := formatFeatures(f), p.formatFeatures(f)
		if own&^all != 0 || all&^own&^(color|blend|depth) != 0 {
			t.Errorf("%v: %v without graphics, %v with", f, own, all)
		}
		for _, feature := range []vk.FormatFeatureFlags2{color, blend, depth} {
			if all&feature != 0 {
				counts[feature]++
			}
		}
		codec, ok := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		if all&color != 0 && (!ok || codec.Wide()) || all&blend != 0 && codec.Class() != texel.Float {
			t.Errorf("%v: %v", f, all)
		}
		if all&(color|depth) == 0 {
			continue
		}
		usage := vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT)
		if all&depth != 0 {
			usage = vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
		}
		q := imageQuery{format: f, imageType: vk.IMAGE_TYPE_2D, tiling: vk.IMAGE_TILING_OPTIMAL,
			usage: usage | vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT}
		var out vk.ImageFormatProperties
		if !p.supported(&q, &out) || out.SampleCounts != manySampleCounts {
			t.Errorf("attachments of format %v: %+v", f, out)
		}
	}
	if counts[depth] != 7 || counts[blend] < 50 || counts[color]-counts[blend] < 30 {
		t.Errorf("%v", counts)
	}
}
