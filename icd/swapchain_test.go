package icd

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"farside/internal/config"
	"farside/internal/journal"
	"farside/internal/vk"
)

// swapchainTest is a device with graphics, a surface, and what a swapchain is made with.
type swapchainTest struct {
	*testing.T
	*device
	surface *surface
	info    vk.SwapchainCreateInfoKHR
}

func newSwapchainTest(t *testing.T) *swapchainTest {
	t.Helper()
	captureLog(t, config.LevelOff)
	i := graphicsInstance(t)
	testMessenger(t, i, everySeverity, everyType, 0)
	maintenance := vk.PhysicalDeviceSwapchainMaintenance1FeaturesKHR{SwapchainMaintenance1: vk.TRUE,
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SWAPCHAIN_MAINTENANCE_1_FEATURES_KHR}
	wait := vk.PhysicalDevicePresentWaitFeaturesKHR{PresentWait: vk.TRUE, PNext: unsafe.Pointer(&maintenance),
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR}
	id := vk.PhysicalDevicePresentIdFeaturesKHR{PresentId: vk.TRUE, PNext: unsafe.Pointer(&wait),
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR}
	s := &swapchainTest{T: t, surface: testSurface(t, i)}
	s.device = propertiesDevice(t, i, unsafe.Pointer(&id))
	s.info = vk.SwapchainCreateInfoKHR{SType: vk.STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
		Surface: vk.SurfaceKHR(s.surface.handle), MinImageCount: 2, ImageFormat: vk.FORMAT_B8G8R8A8_UNORM,
		ImageExtent: vk.Extent2D{Width: 16, Height: 8}, ImageArrayLayers: 1,
		ImageUsage:   vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT,
		PreTransform: vk.SURFACE_TRANSFORM_IDENTITY_BIT_KHR, CompositeAlpha: vk.COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
		PresentMode: vk.PRESENT_MODE_FIFO_KHR}
	takeInbox()
	return s
}

func (s *swapchainTest) create() vk.SwapchainKHR {
	s.Helper()
	var h vk.SwapchainKHR
	if r := commands.CreateSwapchainKHR(s.handle, &s.info, nil, &h); r != vk.SUCCESS {
		s.Fatalf("vkCreateSwapchainKHR: %v (%v)", r, rules())
	}
	s.Cleanup(func() {
		if swapchains.Get(uint64(h)) != nil {
			commands.DestroySwapchainKHR(s.handle, h, nil)
		}
	})
	return h
}

func (s *swapchainTest) fence() vk.Fence {
	s.Helper()
	var f vk.Fence
	if r := commands.CreateFence(s.handle, &vk.FenceCreateInfo{}, nil, &f); r != vk.SUCCESS {
		s.Fatal(r)
	}
	s.Cleanup(func() { commands.DestroyFence(s.handle, f, nil) })
	return f
}

func (s *swapchainTest) semaphore() vk.Semaphore {
	s.Helper()
	var h vk.Semaphore
	if r := commands.CreateSemaphore(s.handle, &vk.SemaphoreCreateInfo{}, nil, &h); r != vk.SUCCESS {
		s.Fatal(r)
	}
	s.Cleanup(func() { commands.DestroySemaphore(s.handle, h, nil) })
	return h
}

// acquire acquires an image with a fence of its own.
func (s *swapchainTest) acquire(c vk.SwapchainKHR, timeout uint64) (uint32, vk.Result) {
	s.Helper()
	index, f := uint32(99), s.fence()
	r := commands.AcquireNextImageKHR(s.handle, c, timeout, 0, f, &index)
	if r == vk.SUCCESS && commands.GetFenceStatus(s.handle, f) != vk.SUCCESS {
		s.Error("the fence of an acquired image is not signalled")
	}
	return index, r
}

func (s *swapchainTest) present(c vk.SwapchainKHR, index uint32, chain unsafe.Pointer,
	waits ...vk.Semaphore) vk.Result {
	s.Helper()
	result := vk.Result(99)
	info := vk.PresentInfoKHR{SType: vk.STRUCTURE_TYPE_PRESENT_INFO_KHR, PNext: chain, SwapchainCount: 1,
		PSwapchains: &c, PImageIndices: &index, PResults: &result, WaitSemaphoreCount: uint32(len(waits)),
		PWaitSemaphores: unsafe.SliceData(waits)}
	r := commands.QueuePresentKHR(s.queues[0].handle, &info)
	if result != r {
		s.Errorf("pResults has %v, the command returns %v", result, r)
	}
	return r
}

func (s *swapchainTest) expect(want vk.VUID, what string, got, result vk.Result) {
	s.Helper()
	if r := rules(); got != result || !slices.Equal(r, []string{want.String()}) {
		s.Errorf("%s: %v, reported %q, want %v and %v", what, got, r, result, want)
	}
}

// TestSwapchainGoesAround acquires and presents, until each image was used several times.
func TestSwapchainGoesAround(t *testing.T) {
	s := newSwapchainTest(t)
	var events eventList
	journal.Attach(&events)
	defer journal.Detach(&events)
	s.info.MinImageCount = 3
	c := s.create()
	var count uint32
	commands.GetSwapchainImagesKHR(s.handle, c, &count, nil)
	handles := make([]vk.Image, count)
	if r := commands.GetSwapchainImagesKHR(s.handle, c, &count, &handles[0]); r != vk.SUCCESS || count != 3 {
		t.Fatalf("%d images: %v", count, r)
	}
	for i := range uint32(10) {
		acquired, rendered := s.semaphore(), s.semaphore()
		index := uint32(99)
		if r := commands.AcquireNextImageKHR(s.handle, c, 0, acquired, 0, &index); r != vk.SUCCESS || index != i%3 {
			t.Fatalf("frame %d: image %d, %v", i, index, r)
		}
		if semaphores.Get(uint64(acquired)).permanent.Value() != 1 {
			t.Error("the semaphore is not signalled")
		}
		stage := vk.PipelineStageFlags(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
		if r := commands.QueueSubmit(s.queues[0].handle, 1, &vk.SubmitInfo{SType: vk.STRUCTURE_TYPE_SUBMIT_INFO,
			WaitSemaphoreCount: 1, PWaitSemaphores: &acquired, PWaitDstStageMask: &stage, SignalSemaphoreCount: 1,
			PSignalSemaphores: &rendered}, 0); r != vk.SUCCESS {
			t.Fatal(r)
		}
		if r := s.present(c, index, nil, rendered); r != vk.SUCCESS {
			t.Fatalf("frame %d: %v (%v)", i, r, rules())
		}
		commands.QueueWaitIdle(s.queues[0].handle)
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
	frames := uint64(0)
	for _, e := range events.take() {
		if e.Kind == journal.Present {
			if frames++; e.Number != frames || e.Object.Handle != uint64(c) || e.Parent.Handle != uint64(handles[(frames-1)%3]) {
				t.Errorf("frame %d: %+v", frames, e)
			}
		}
	}
	if frames != 10 {
		t.Errorf("the journal has %d frames, want 10", frames)
	}
	img := images.Get(uint64(handles[0]))
	if _, ok := img.bound[0].boundTo().payload.FD(); !ok {
		t.Error("the memory of a swapchain's image is no file")
	}
	commands.DestroyImage(s.handle, handles[0], nil)
	s.expect(vk.VUID_vkDestroyImage_image_04882, "vkDestroyImage", 0, 0)
	used := s.physical.budget.Usage(0) + s.physical.budget.Usage(1)
	commands.DestroySwapchainKHR(s.handle, c, nil)
	if images.Get(uint64(handles[0])) != nil || s.physical.budget.Usage(0)+s.physical.budget.Usage(1) >= used {
		t.Error("a swapchain is gone, and its images or their memory are not")
	}
}

// eventList is a sink of the journal.
type eventList struct{ events []journal.Event }

func (l *eventList) Write(e *journal.Event) { l.events = append(l.events, *e) }
func (l *eventList) take() []journal.Event  { return l.events }

// TestAcquireWithoutImage: timeouts, a swapchain that is retired or whose device is lost, and images that are released.
func TestAcquireWithoutImage(t *testing.T) {
	s := newSwapchainTest(t)
	c := s.create()
	first, _ := s.acquire(c, 0)
	s.acquire(c, math.MaxUint64)
	if _, r := s.acquire(c, 0); r != vk.NOT_READY {
		t.Errorf("without an image and a timeout: %v", r)
	}
	begin := time.Now()
	if _, r := s.acquire(c, uint64(10*time.Millisecond)); r != vk.TIMEOUT || time.Since(begin) < 10*time.Millisecond {
		t.Errorf("with a timeout: %v after %v", r, time.Since(begin))
	}
	release := vk.ReleaseSwapchainImagesInfoKHR{SType: vk.STRUCTURE_TYPE_RELEASE_SWAPCHAIN_IMAGES_INFO_KHR,
		Swapchain: c, ImageIndexCount: 1, PImageIndices: &first}
	if r := commands.ReleaseSwapchainImagesKHR(s.handle, &release); r != vk.SUCCESS {
		t.Error(r)
	}
	s.expect(vk.VUID_VkReleaseSwapchainImagesInfoKHR_pImageIndices_07785, "a second release",
		commands.ReleaseSwapchainImagesKHR(s.handle, &release), vk.ERROR_VALIDATION_FAILED)
	if i, r := s.acquire(c, 0); r != vk.SUCCESS || i != first {
		t.Errorf("image %d after the release: %v", i, r)
	}
	waiting := make(chan vk.Result)
	wait := func() {
		f, index := s.fence(), uint32(0)
		go func() { waiting <- commands.AcquireNextImageKHR(s.handle, c, math.MaxUint64, 0, f, &index) }()
		time.Sleep(5 * time.Millisecond)
	}
	wait()
	s.info.OldSwapchain = c
	newer := s.create()
	if r := <-waiting; r != vk.ERROR_OUT_OF_DATE_KHR {
		t.Errorf("a wait for an image of a retired swapchain: %v", r)
	}
	if _, r := s.acquire(c, 0); r != vk.ERROR_OUT_OF_DATE_KHR {
		t.Errorf("an image of a retired swapchain: %v", r)
	}
	if r := s.present(c, first, nil); r != vk.SUCCESS {
		t.Errorf("an acquired image of a retired swapchain is not presented: %v", r)
	}
	takeInbox()
	c = newer
	s.acquire(c, 0)
	s.acquire(c, 0)
	wait()
	s.lose()
	if r := <-waiting; r != vk.ERROR_DEVICE_LOST {
		t.Errorf("a wait for an image of a lost device: %v", r)
	}
	if _, r := s.acquire(c, 0); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("an image of a lost device: %v", r)
	}
	if r := s.present(c, 0, nil); r != vk.ERROR_DEVICE_LOST {
		t.Errorf("a presentation on a lost device: %v", r)
	}
}

// TestOneSwapchainOfSurface: a surface has one swapchain, unless it is replaced; the old one is retired even if the new
// one can't be made.
func TestOneSwapchainOfSurface(t *testing.T) {
	s := newSwapchainTest(t)
	c := s.create()
	var h vk.SwapchainKHR
	s.expect(vk.VUID_VkSwapchainCreateInfoKHR_oldSwapchain_01933, "a second swapchain",
		commands.CreateSwapchainKHR(s.handle, &s.info, nil, &h), vk.ERROR_NATIVE_WINDOW_IN_USE_KHR)
	s.info.OldSwapchain, s.info.ImageExtent.Width = c, 0
	s.expect(vk.VUID_VkSwapchainCreateInfoKHR_imageExtent_01689, "a wrong swapchain",
		commands.CreateSwapchainKHR(s.handle, &s.info, nil, &h), vk.ERROR_VALIDATION_FAILED)
	if !swapchains.Get(uint64(c)).chain.Retired() {
		t.Error("the old swapchain is not retired")
	}
	s.info.ImageExtent.Width = 16
	s.expect(vk.VUID_VkSwapchainCreateInfoKHR_oldSwapchain_01933, "a retired oldSwapchain",
		commands.CreateSwapchainKHR(s.handle, &s.info, nil, &h), vk.ERROR_NATIVE_WINDOW_IN_USE_KHR)
	s.info.OldSwapchain = 0
	s.create()
	commands.DestroySurfaceKHR(s.physical.instance.handle, vk.SurfaceKHR(s.surface.handle), nil)
	s.expect(vk.VUID_vkDestroySurfaceKHR_surface_01266, "vkDestroySurfaceKHR", 0, 0)
}

// TestSwapchainRules breaks one rule of vkCreateSwapchainKHR at a time.
func TestSwapchainRules(t *testing.T) {
	s := newSwapchainTest(t)
	families := []uint32{0, 0}
	for _, test := range []struct {
		rule vk.VUID
		with func(i *vk.SwapchainCreateInfoKHR)
	}{
		{vk.VUID_VkSwapchainCreateInfoKHR_minImageCount_01272,
			func(i *vk.SwapchainCreateInfoKHR) { i.MinImageCount = math.MaxUint32 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_presentMode_02839, func(i *vk.SwapchainCreateInfoKHR) { i.MinImageCount = 0 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageFormat_01273,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageFormat = vk.FORMAT_R8_UNORM }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageFormat_01273,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageColorSpace = vk.COLOR_SPACE_HDR10_HLG_EXT }},
		{vk.VUID_VkSwapchainCreateInfoKHR_pNext_07781,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageExtent.Height = 1 << 20 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageArrayLayers_01275,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageArrayLayers = 2 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageUsage_requiredbitmask,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageUsage = 0 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_presentMode_01427,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageUsage |= vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageFormat_01778, func(i *vk.SwapchainCreateInfoKHR) {
			i.ImageFormat, i.ImageUsage = vk.FORMAT_B8G8R8A8_SRGB, vk.IMAGE_USAGE_STORAGE_BIT
		}},
		{vk.VUID_VkSwapchainCreateInfoKHR_preTransform_01279, func(i *vk.SwapchainCreateInfoKHR) { i.PreTransform = 0 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_compositeAlpha_01280,
			func(i *vk.SwapchainCreateInfoKHR) { i.CompositeAlpha = vk.COMPOSITE_ALPHA_PRE_MULTIPLIED_BIT_KHR }},
		{vk.VUID_VkSwapchainCreateInfoKHR_presentMode_01281,
			func(i *vk.SwapchainCreateInfoKHR) { i.PresentMode = vk.PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR }},
		{vk.VUID_VkSwapchainCreateInfoKHR_flags_03187,
			func(i *vk.SwapchainCreateInfoKHR) { i.Flags = vk.SWAPCHAIN_CREATE_PROTECTED_BIT_KHR }},
		{vk.VUID_VkSwapchainCreateInfoKHR_flags_03168,
			func(i *vk.SwapchainCreateInfoKHR) { i.Flags = vk.SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR }},
		{vk.VUID_VkSwapchainCreateInfoKHR_flags_parameter, func(i *vk.SwapchainCreateInfoKHR) { i.Flags = 1 << 20 }},
		{vk.VUID_VkSwapchainCreateInfoKHR_physicalDeviceCount_01429,
			func(i *vk.SwapchainCreateInfoKHR) { i.Flags = vk.SWAPCHAIN_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT_KHR }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageSharingMode_01278,
			func(i *vk.SwapchainCreateInfoKHR) { i.ImageSharingMode = vk.SHARING_MODE_CONCURRENT }},
		{vk.VUID_VkSwapchainCreateInfoKHR_imageSharingMode_01428, func(i *vk.SwapchainCreateInfoKHR) {
			i.ImageSharingMode, i.QueueFamilyIndexCount, i.PQueueFamilyIndices = vk.SHARING_MODE_CONCURRENT, 2, &families[0]
		}},
	} {
		info := s.info
		test.with(&info)
		h := vk.SwapchainKHR(99)
		before := liveObjects()
		s.expect(test.rule, "vkCreateSwapchainKHR", commands.CreateSwapchainKHR(s.handle, &info, nil, &h),
			vk.ERROR_VALIDATION_FAILED)
		if h != 0 || liveObjects() != before {
			t.Errorf("%v: a handle or objects are left", test.rule)
		}
	}
}

// TestPresentRules breaks one rule of presentations and acquisitions at a time; nothing changes.
func TestPresentRules(t *testing.T) {
	s := newSwapchainTest(t)
	c := s.create()
	index, _ := s.acquire(c, 0)
	s.expect(vk.VUID_VkPresentInfoKHR_pImageIndices_01430, "an image that is not acquired", s.present(c, 1, nil),
		vk.ERROR_VALIDATION_FAILED)
	s.expect(vk.VUID_VkPresentInfoKHR_pImageIndices_01430, "an image that there is not", s.present(c, 1<<31, nil),
		vk.ERROR_VALIDATION_FAILED)
	id := uint64(5)
	ids := vk.PresentIdKHR{SType: vk.STRUCTURE_TYPE_PRESENT_ID_KHR, SwapchainCount: 2, PPresentIds: &id}
	s.expect(vk.VUID_VkPresentIdKHR_swapchainCount_04998, "IDs of other swapchains",
		s.present(c, index, unsafe.Pointer(&ids)), vk.ERROR_VALIDATION_FAILED)
	mode := vk.PRESENT_MODE_MAILBOX_KHR
	modes := vk.SwapchainPresentModeInfoKHR{SType: vk.STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODE_INFO_KHR,
		SwapchainCount: 1, PPresentModes: &mode}
	s.expect(vk.VUID_VkSwapchainPresentModeInfoKHR_pPresentModes_07761, "a mode of no swapchain",
		s.present(c, index, unsafe.Pointer(&modes)), vk.ERROR_VALIDATION_FAILED)
	var out uint32
	s.expect(vk.VUID_vkAcquireNextImageKHR_semaphore_01780, "nothing to wait for",
		commands.AcquireNextImageKHR(s.handle, c, 0, 0, 0, &out), vk.ERROR_VALIDATION_FAILED)
	s.expect(vk.VUID_VkAcquireNextImageInfoKHR_deviceMask_01290, "a device that there is not",
		commands.AcquireNextImage2KHR(s.handle, &vk.AcquireNextImageInfoKHR{Swapchain: c, Fence: s.fence(), DeviceMask: 2},
			&out), vk.ERROR_VALIDATION_FAILED)
	f := s.fence()
	if r := commands.QueueSubmit(s.queues[0].handle, 0, nil, f); r != vk.SUCCESS {
		t.Fatal(r)
	}
	commands.QueueWaitIdle(s.queues[0].handle)
	s.expect(vk.VUID_vkAcquireNextImageKHR_fence_01287, "a fence that is signalled",
		commands.AcquireNextImageKHR(s.handle, c, 0, 0, f, &out), vk.ERROR_VALIDATION_FAILED)
	if n := swapchains.Get(uint64(c)).chain.Acquired(); n != 1 {
		t.Errorf("%d images are acquired after what was refused, want 1", n)
	}
	if r := s.present(c, index, nil); r != vk.SUCCESS {
		t.Error(r)
	}
}

// TestPresentIDs: a wait for an ID ends when the queue has done the waits of its presentation, and so does the fence.
func TestPresentIDs(t *testing.T) {
	s := newSwapchainTest(t)
	c, semaphore, f := s.create(), s.semaphore(), s.fence()
	index, _ := s.acquire(c, 0)
	id := uint64(7)
	fences := vk.SwapchainPresentFenceInfoKHR{SType: vk.STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_KHR,
		SwapchainCount: 1, PFences: &f}
	ids := vk.PresentIdKHR{SType: vk.STRUCTURE_TYPE_PRESENT_ID_KHR, PNext: unsafe.Pointer(&fences), SwapchainCount: 1,
		PPresentIds: &id}
	if r := s.present(c, index, unsafe.Pointer(&ids), semaphore); r != vk.SUCCESS {
		t.Fatalf("%v (%v)", r, rules())
	}
	if r := commands.WaitForPresentKHR(s.handle, c, 7, 0); r != vk.TIMEOUT {
		t.Errorf("before the semaphore is signalled: %v", r)
	}
	if r := commands.GetFenceStatus(s.handle, f); r != vk.NOT_READY {
		t.Errorf("the fence before: %v", r)
	}
	if err := semaphores.Get(uint64(semaphore)).permanent.Signal(1); err != nil {
		t.Fatal(err)
	}
	if r := commands.WaitForPresentKHR(s.handle, c, 7, uint64(time.Minute)); r != vk.SUCCESS {
		t.Errorf("afterwards: %v", r)
	}
	if r := commands.WaitForFences(s.handle, 1, &f, vk.TRUE, uint64(time.Minute)); r != vk.SUCCESS {
		t.Errorf("the fence: %v", r)
	}
	index, _ = s.acquire(c, 0)
	ids.PNext = nil
	s.expect(vk.VUID_VkPresentIdKHR_presentIds_04999, "an ID twice", s.present(c, index, unsafe.Pointer(&ids)),
		vk.ERROR_VALIDATION_FAILED)
}

// TestDeferredImages: images of a swapchain with deferred allocation have memory when they are acquired.
func TestDeferredImages(t *testing.T) {
	s := newSwapchainTest(t)
	s.info.Flags = vk.SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_KHR
	h := s.create()
	c := swapchains.Get(uint64(h))
	if c.images[0].isBound() || c.images[1].isBound() {
		t.Error("an image has memory that was never acquired")
	}
	index, r := s.acquire(h, 0)
	if r != vk.SUCCESS || !c.images[index].isBound() || c.images[1-index].isBound() {
		t.Errorf("image %d: %v", index, r)
	}
}

// TestImageOfSwapchainsMemory binds an image to the memory of a swapchain's.
func TestImageOfSwapchainsMemory(t *testing.T) {
	s := newSwapchainTest(t)
	h := s.create()
	c := swapchains.Get(uint64(h))
	chained := vk.ImageSwapchainCreateInfoKHR{SType: vk.STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR, Swapchain: h}
	info := impliedImage(&s.info)
	info.PNext = unsafe.Pointer(&chained)
	var img vk.Image
	if r := commands.CreateImage(s.handle, info, nil, &img); r != vk.SUCCESS {
		t.Fatalf("%v (%v)", r, rules())
	}
	defer func() { commands.DestroyImage(s.handle, img, nil) }()
	at := vk.BindImageMemorySwapchainInfoKHR{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR,
		Swapchain: h, ImageIndex: 5}
	bind := vk.BindImageMemoryInfo{SType: vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, PNext: unsafe.Pointer(&at), Image: img}
	s.expect(vk.VUID_VkBindImageMemorySwapchainInfoKHR_imageIndex_01644, "an image that there is not",
		commands.BindImageMemory2(s.handle, 1, &bind), vk.ERROR_VALIDATION_FAILED)
	at.ImageIndex = 1
	if r := commands.BindImageMemory2(s.handle, 1, &bind); r != vk.SUCCESS {
		t.Fatalf("%v (%v)", r, rules())
	}
	if images.Get(uint64(img)).bound[0].boundTo() != c.images[1].bound[0].boundTo() {
		t.Error("the images lie in different memory")
	}
	commands.DestroySwapchainKHR(s.handle, h, nil)
	if images.Get(uint64(img)).isBound() {
		t.Error("an image is bound to memory of a swapchain that is gone")
	}
	info.Extent.Width++
	s.expect(vk.VUID_VkImageSwapchainCreateInfoKHR_swapchain_parameter, "a swapchain that is gone",
		commands.CreateImage(s.handle, info, nil, &img), vk.ERROR_UNKNOWN)
}

// TestFaultsOfSwapchains: VK_SUBOPTIMAL_KHR does what the command does; a presentation that fails as a window system
// does consumes semaphores and images.
func TestFaultsOfSwapchains(t *testing.T) {
	s := newSwapchainTest(t)
	c := s.create()
	withFaults(t, "vkAcquireNextImageKHR=VK_SUBOPTIMAL_KHR@1; vkQueuePresentKHR=VK_SUBOPTIMAL_KHR@1;"+
		"vkQueuePresentKHR=VK_ERROR_OUT_OF_DATE_KHR@1; vkQueuePresentKHR=VK_ERROR_OUT_OF_HOST_MEMORY@1")
	index, r := s.acquire(c, 0)
	if r != vk.SUBOPTIMAL_KHR || index != 0 {
		t.Fatalf("image %d: %v", index, r)
	}
	if r := s.present(c, 0, nil); r != vk.SUBOPTIMAL_KHR {
		t.Error(r)
	}
	index, _ = s.acquire(c, 0)
	semaphore := s.semaphore()
	payload := semaphores.Get(uint64(semaphore)).permanent
	_ = payload.Signal(1)
	if r := s.present(c, index, nil, semaphore); r != vk.ERROR_OUT_OF_DATE_KHR || payload.Value() != 0 {
		t.Errorf("%v, the semaphore is %d", r, payload.Value())
	}
	index, _ = s.acquire(c, 0)
	_ = payload.Signal(1)
	if r := s.present(c, index, nil, semaphore); r != vk.ERROR_OUT_OF_HOST_MEMORY || payload.Value() != 1 {
		t.Errorf("%v, the semaphore is %d", r, payload.Value())
	}
	if n := swapchains.Get(uint64(c)).chain.Acquired(); n != 1 {
		t.Errorf("%d images are acquired, want 1", n)
	}
}

// TestLeftSwapchain: a device is destroyed with its swapchain, and an instance with its surface; both are told once.
func TestLeftSwapchain(t *testing.T) {
	s := newSwapchainTest(t)
	s.create()
	memories := deviceMemories.Len()
	commands.DestroyDevice(s.handle, nil)
	s.expect(vk.VUID_vkDestroyDevice_device_05137, "vkDestroyDevice", 0, 0)
	if n := deviceMemories.Len(); n != memories-2 {
		t.Errorf("%d memories are left of %d", n, memories)
	}
	if s.surface.swapchains != 0 {
		t.Error("the surface has a swapchain still")
	}
}

// TestSurfaceAnswers looks at what devices say of a surface, with graphics and without.
func TestSurfaceAnswers(t *testing.T) {
	s := newSwapchainTest(t)
	p, h := s.physical.handle, vk.SurfaceKHR(s.surface.handle)
	for family := range uint32(len(s.physical.families)) {
		supported := vk.Bool32(9)
		if r := commands.GetPhysicalDeviceSurfaceSupportKHR(p, family, h, &supported); r != vk.SUCCESS || supported != 1 {
			t.Errorf("family %d: %v, %d", family, r, supported)
		}
	}
	mode := vk.SurfacePresentModeKHR{SType: vk.STRUCTURE_TYPE_SURFACE_PRESENT_MODE_KHR,
		PresentMode: vk.PRESENT_MODE_MAILBOX_KHR}
	ask := vk.PhysicalDeviceSurfaceInfo2KHR{SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_SURFACE_INFO_2_KHR,
		PNext: unsafe.Pointer(&mode), Surface: h}
	compatible := make([]vk.PresentModeKHR, 8)
	list := vk.SurfacePresentModeCompatibilityKHR{SType: vk.STRUCTURE_TYPE_SURFACE_PRESENT_MODE_COMPATIBILITY_KHR,
		PresentModeCount: 8, PPresentModes: &compatible[0]}
	out := vk.SurfaceCapabilities2KHR{SType: vk.STRUCTURE_TYPE_SURFACE_CAPABILITIES_2_KHR, PNext: unsafe.Pointer(&list)}
	if r := commands.GetPhysicalDeviceSurfaceCapabilities2KHR(p, &ask, &out); r != vk.SUCCESS ||
		list.PresentModeCount != 5 || !slices.Contains(compatible[:5], mode.PresentMode) {
		t.Errorf("%v, compatible with %v", r, compatible[:list.PresentModeCount])
	}
	list.PresentModeCount = 1
	if r := commands.GetPhysicalDeviceSurfaceCapabilities2KHR(p, &ask, &out); r != vk.SUCCESS ||
		list.PresentModeCount != 1 || compatible[0] != mode.PresentMode {
		t.Errorf("%v, the first mode is %v", r, compatible[0])
	}
	if can := out.SurfaceCapabilities; can.SupportedUsageFlags&vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT == 0 ||
		can.CurrentExtent.Width != math.MaxUint32 || can.MinImageCount != 1 {
		t.Errorf("%+v", can)
	}
	count := uint32(2)
	formats := make([]vk.SurfaceFormatKHR, 2)
	if r := commands.GetPhysicalDeviceSurfaceFormatsKHR(p, h, &count, &formats[0]); r != vk.INCOMPLETE || count != 2 {
		t.Errorf("two of the formats: %v, %d", r, count)
	}
	for _, f := range surfaceFormats {
		if s.physical.formatFeatures(f.Format)&vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT == 0 {
			t.Errorf("%v is no color attachment", f.Format)
		}
	}
	withoutGraphics(t)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	without := testSurface(t, i)
	supported := vk.Bool32(9)
	if r := commands.GetPhysicalDeviceSurfaceSupportKHR(i.devices[0].handle, 0, vk.SurfaceKHR(without.handle),
		&supported); r != vk.SUCCESS || supported != 0 {
		t.Errorf("without graphics: %v, %d", r, supported)
	}
	takeInbox()
	s.expect(vk.VUID_vkGetPhysicalDeviceSurfacePresentModesKHR_surface_06525, "modes without graphics",
		commands.GetPhysicalDeviceSurfacePresentModesKHR(i.devices[0].handle, vk.SurfaceKHR(without.handle), &count, nil),
		vk.ERROR_UNKNOWN)
}

// TestPresentUnderAsync: what a queue did to an image before its presentation is ordered before what waits for the
// semaphore of the next acquisition.
func TestPresentUnderAsync(t *testing.T) {
	t.Setenv("FARSIDE_STRICT", "async")
	s := newSwapchainTest(t)
	s.info.MinImageCount = 1
	c := s.create()
	for i := range 5 {
		semaphore := s.semaphore()
		index := uint32(0)
		if r := commands.AcquireNextImageKHR(s.handle, c, uint64(time.Minute), semaphore, 0, &index); r != vk.SUCCESS {
			t.Fatalf("frame %d: %v", i, r)
		}
		if r := s.present(c, index, nil, semaphore); r != vk.SUCCESS {
			t.Fatalf("frame %d: %v", i, r)
		}
	}
	commands.DeviceWaitIdle(s.handle)
	if got := rules(); len(got) != 0 {
		t.Error(fmt.Sprint(got))
	}
}

// TestAcquireWithUsedSemaphore: a semaphore may be signalled while no image is free, if the wait of the frame that
// holds the image makes it unsignalled. Programs with as many semaphores as images rely on that.
func TestAcquireWithUsedSemaphore(t *testing.T) {
	s := newSwapchainTest(t)
	s.info.MinImageCount = 1
	c := s.create()
	kind := vk.SemaphoreTypeCreateInfo{SType: vk.STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		SemaphoreType: vk.SEMAPHORE_TYPE_TIMELINE}
	var gate vk.Semaphore
	wantResult(t, "vkCreateSemaphore", commands.CreateSemaphore(s.handle,
		&vk.SemaphoreCreateInfo{PNext: unsafe.Pointer(&kind)}, nil, &gate), vk.SUCCESS)
	defer commands.DestroySemaphore(s.handle, gate, nil)
	acquired, rendered := s.semaphore(), s.semaphore()
	index := uint32(0)
	acquire := func(timeout uint64) vk.Result {
		return commands.AcquireNextImageKHR(s.handle, c, timeout, acquired, 0, &index)
	}
	wantResult(t, "the first acquisition", acquire(0), vk.SUCCESS)
	value, stage := uint64(1), vk.PipelineStageFlags(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	timeline := vk.TimelineSemaphoreSubmitInfo{SType: vk.STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		WaitSemaphoreValueCount: 1, PWaitSemaphoreValues: &value}
	batches := []vk.SubmitInfo{
		{SType: vk.STRUCTURE_TYPE_SUBMIT_INFO, PNext: unsafe.Pointer(&timeline), WaitSemaphoreCount: 1,
			PWaitSemaphores: &gate, PWaitDstStageMask: &stage},
		{SType: vk.STRUCTURE_TYPE_SUBMIT_INFO, WaitSemaphoreCount: 1, PWaitSemaphores: &acquired,
			PWaitDstStageMask: &stage, SignalSemaphoreCount: 1, PSignalSemaphores: &rendered},
	}
	wantResult(t, "vkQueueSubmit", commands.QueueSubmit(s.queues[0].handle, 2, &batches[0], 0), vk.SUCCESS)
	takeInbox() // the device has no feature of timeline semaphores
	wantResult(t, "vkQueuePresentKHR", s.present(c, index, nil, rendered), vk.SUCCESS)
	s.expect(vk.VUID_vkAcquireNextImageKHR_semaphore_01286, "no image, and no time to wait for one", acquire(0),
		vk.ERROR_VALIDATION_FAILED)
	done := make(chan vk.Result)
	go func() { done <- acquire(math.MaxUint64) }()
	time.Sleep(5 * time.Millisecond)
	wantResult(t, "vkSignalSemaphore", commands.SignalSemaphore(s.handle, &vk.SemaphoreSignalInfo{Semaphore: gate,
		Value: 1}), vk.SUCCESS)
	s.expect(vk.VUID_vkAcquireNextImageKHR_semaphore_01286, "the second acquisition", <-done, vk.SUCCESS)
	wantResult(t, "vkReleaseSwapchainImagesKHR", commands.ReleaseSwapchainImagesKHR(s.handle,
		&vk.ReleaseSwapchainImagesInfoKHR{SType: vk.STRUCTURE_TYPE_RELEASE_SWAPCHAIN_IMAGES_INFO_KHR, Swapchain: c,
			ImageIndexCount: 1, PImageIndices: &index}), vk.SUCCESS)
	s.expect(vk.VUID_vkAcquireNextImageKHR_semaphore_01286, "nobody will wait for the semaphore", acquire(0),
		vk.ERROR_VALIDATION_FAILED)
	if i, r := s.acquire(c, 0); r != vk.SUCCESS {
		t.Errorf("the image is lost after a wrong acquisition: %d, %v", i, r)
	}
}
