package icd

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"farside/internal/config"
	"farside/internal/exec"
	"farside/internal/journal"
	"farside/internal/present"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// acquireRules are the rules of vkAcquireNextImageKHR, or of vkAcquireNextImage2KHR.
type acquireRules struct {
	command                                                                                string
	retired, nothing, semaphoreType, semaphoreSignalled, semaphorePending, fence, progress vk.VUID
}

var (
	acquireRules1 = acquireRules{
		command:            "vkAcquireNextImageKHR",
		retired:            vk.VUID_vkAcquireNextImageKHR_swapchain_01285,
		nothing:            vk.VUID_vkAcquireNextImageKHR_semaphore_01780,
		semaphoreType:      vk.VUID_vkAcquireNextImageKHR_semaphore_03265,
		semaphoreSignalled: vk.VUID_vkAcquireNextImageKHR_semaphore_01286,
		semaphorePending:   vk.VUID_vkAcquireNextImageKHR_semaphore_01779,
		fence:              vk.VUID_vkAcquireNextImageKHR_fence_01287,
		progress:           vk.VUID_vkAcquireNextImageKHR_surface_07783,
	}
	acquireRules2 = acquireRules{
		command:            "vkAcquireNextImage2KHR",
		retired:            vk.VUID_VkAcquireNextImageInfoKHR_swapchain_01675,
		nothing:            vk.VUID_VkAcquireNextImageInfoKHR_semaphore_01782,
		semaphoreType:      vk.VUID_VkAcquireNextImageInfoKHR_semaphore_03266,
		semaphoreSignalled: vk.VUID_VkAcquireNextImageInfoKHR_semaphore_01288,
		semaphorePending:   vk.VUID_VkAcquireNextImageInfoKHR_semaphore_01781,
		fence:              vk.VUID_VkAcquireNextImageInfoKHR_fence_01289,
		progress:           vk.VUID_vkAcquireNextImage2KHR_surface_07784,
	}
)

// acquisition is one acquisition of an image.
type acquisition struct {
	rules     *acquireRules
	swapchain *swapchain
	timeout   uint64 // nanoseconds
	semaphore *semaphore
	fence     *fence
	mask      uint32 // the physical devices that will use the image
}

func acquireNextImageKHR(
	d *device, c *swapchain, timeout uint64, s *semaphore, f *fence, out *uint32,
) vk.Result {
	a := acquisition{&acquireRules1, c, timeout, s, f, d.everyDevice()}
	return a.run(out)
}

func acquireNextImage2KHR(d *device, info *vk.AcquireNextImageInfoKHR, out *uint32) vk.Result {
	a := acquisition{rules: &acquireRules2, swapchain: live(swapchains, info.Swapchain), timeout: info.Timeout,
		mask: info.DeviceMask}
	if info.Semaphore != 0 {
		a.semaphore = live(semaphores, info.Semaphore)
	}
	if info.Fence != 0 {
		a.fence = live(fences, info.Fence)
	}
	switch {
	case a.mask == 0:
		return a.swapchain.fail(a.rules.command, invalid(vk.VUID_VkAcquireNextImageInfoKHR_deviceMask_01291,
			"the device mask is 0"))
	case a.mask&^d.everyDevice() != 0:
		return a.swapchain.fail(a.rules.command, invalid(vk.VUID_VkAcquireNextImageInfoKHR_deviceMask_01290,
			"device mask %#b names a device that the device group of %d does not have", a.mask, len(d.members)))
	}
	return a.run(out)
}

func (a *acquisition) run(out *uint32) vk.Result {
	c := a.swapchain
	if c.device.lost.Load() {
		return vk.ERROR_DEVICE_LOST
	}
	if err := a.check(); err != nil {
		return c.fail(a.rules.command, err)
	}
	if a.timeout == math.MaxUint64 && c.chain.Acquired() == len(c.images) {
		// It isn't refused: another thread may present one, and the device may be lost.
		c.device.forgives(a.rules.progress, "the application has all images of the swapchain, and waits for one for ever")
	}
	early := a.unsignalled()
	index, err := c.chain.Acquire(a.timeout, c.device.stop)
	if early != nil {
		// The wait that makes the semaphore unsignalled again may be of a frame that had to end for an image to become free:
		// programs with as many semaphores as images rely on that. It has to be so when the image is there.
		if late := a.unsignalled(); late != nil {
			if err == nil {
				_ = c.chain.Release(index) // it was acquired here
			}
			return c.fail(a.rules.command, late)
		}
		c.device.forgives(a.rules.semaphoreSignalled, "the semaphore was signalled until there was an image")
	}
	switch {
	case errors.Is(err, present.ErrNotReady):
		return vk.NOT_READY
	case errors.Is(err, present.ErrRetired):
		return c.fail(a.rules.command, a.retired())
	case err != nil:
		return c.device.waited(a.rules.command, err)
	}
	img := c.images[index]
	if img.bound[0].memory.Load() == nil { // its allocation was deferred
		if err := img.allocate(); err != nil {
			_ = c.chain.Release(index) // it was acquired here
			return c.fail(a.rules.command, err)
		}
	}
	c.masks[index] = a.mask
	a.signal(img)
	*out = uint32(index)
	return vk.SUCCESS
}

func (a *acquisition) retired() error {
	return vk.Errorf(vk.ERROR_OUT_OF_DATE_KHR, a.rules.retired, "the swapchain is retired")
}

// check holds the semaphore and the fence to their rules.
func (a *acquisition) check() error {
	if a.semaphore == nil && a.fence == nil {
		return invalid(a.rules.nothing, "neither a semaphore nor a fence says when the image can be used")
	}
	if s := a.semaphore; s != nil {
		p := s.payload()
		defer p.Release()
		switch {
		case s.timeline:
			return invalid(a.rules.semaphoreType, "semaphore %#x is a timeline semaphore", s.handle)
		case p.HasPending():
			return invalid(a.rules.semaphorePending, "a queue has not signalled semaphore %#x yet", s.handle)
		}
	}
	if f := a.fence; f != nil {
		p := f.payload()
		defer p.Release()
		if p.Value() != 0 || p.HasPending() {
			return invalid(a.rules.fence, "fence %#x is signalled, or a queue has not signalled it yet", f.handle)
		}
	}
	return nil
}

// unsignalled says what is wrong if the semaphore is signalled.
func (a *acquisition) unsignalled() error {
	s := a.semaphore
	if s == nil {
		return nil
	}
	p := s.payload()
	defer p.Release()
	if p.Value() != 0 {
		return invalid(a.rules.semaphoreSignalled, "semaphore %#x is signalled", s.handle)
	}
	return nil
}

// signal signals the semaphore and the fence of an image that is free: nobody has to be waited for.
func (a *acquisition) signal(img *image) {
	c := a.swapchain
	o := c.device.exec.Order
	if o != nil && img.presented.Load() {
		o.Wait(c.line, imageKey(img), 0)
	}
	give := func(p *syncobj.Payload) {
		if o != nil {
			o.Signal(c.line, exec.OrderKey(p), 0)
		}
		_ = p.Signal(1) // only a timeline's signal can fail
		p.Release()
	}
	if a.semaphore != nil {
		give(a.semaphore.payload())
	}
	if a.fence != nil {
		a.fence.queue.Store(nil) // who waits has no queue to help
		give(a.fence.payload())
	}
}

// presentRequest is one swapchain of a vkQueuePresentKHR.
type presentRequest struct {
	swapchain *swapchain
	image     uint32
	id        uint64 // 0: none
	mode      vk.PresentModeKHR
	fence     *fence // nil: none
}

// presentation is an image on its way through a queue.
type presentation struct {
	*present.Frame
	swapchain *swapchain
	image     *image
}

// Ready is called when the queue has done all waits.
func (p *presentation) Ready(q *exec.Queue) {
	if o := p.swapchain.device.exec.Order; o != nil {
		o.Signal(q.Line, imageKey(p.image), 0)
	}
	p.image.presented.Store(true)
	p.Frame.Ready()
}

// shown tells the journal of the image that is presented.
func (p *presentation) shown() {
	if !journal.On() {
		return
	}
	i := p.swapchain.device.physical.instance
	journal.Emit(journal.Event{Kind: journal.Present, Number: p.Number, Value: p.ID,
		Object: i.journaled(object{vk.OBJECT_TYPE_SWAPCHAIN_KHR, p.swapchain.handle}),
		Parent: i.journaled(object{vk.OBJECT_TYPE_IMAGE, p.image.handle})})
}

func queuePresentKHR(q *queue, info *vk.PresentInfoKHR) vk.Result { return q.present(info, vk.SUCCESS) }

// present queues presentations. outcome is what becomes of each: a fault on command is a window system's, which
// consumes the semaphores and takes the images all the same.
func (q *queue) present(info *vk.PresentInfoKHR, outcome vk.Result) vk.Result {
	results := vk.Slice(info.PResults, info.SwapchainCount)
	r, err := q.queuePresentations(info, outcome)
	if err != nil {
		r = q.fail("vkQueuePresentKHR", err)
	}
	for i := range results {
		results[i] = r
	}
	return r
}

func (q *queue) queuePresentations(info *vk.PresentInfoKHR, outcome vk.Result) (vk.Result, error) {
	requests, err := q.presentRequests(info)
	if err != nil {
		return 0, err
	}
	waits := vk.Slice(info.PWaitSemaphores, info.WaitSemaphoreCount)
	for _, h := range waits {
		if live(semaphores, h).timeline {
			return 0, invalid(vk.VUID_vkQueuePresentKHR_pWaitSemaphores_03267, "semaphore %#x is a timeline semaphore",
				uint64(h))
		}
	}
	if q.device.lost.Load() {
		return vk.ERROR_DEVICE_LOST, nil
	}
	s := exec.NewSubmission()
	for _, h := range waits {
		s.Wait(live(semaphores, h).takeWait(), 0)
	}
	for _, r := range requests {
		c := r.swapchain
		frame, err := c.chain.Queue(int(r.image), r.mode, r.id)
		if err != nil { // another thread has presented it meanwhile, against the rules
			s.Cancel()
			return 0, invalid(vk.VUID_VkPresentInfoKHR_pImageIndices_01430, "image %d: %w", r.image, err)
		}
		p := &presentation{Frame: frame, swapchain: c, image: c.images[r.image]}
		frame.Shown = p.shown
		c.mode = r.mode
		s.Present(p)
	}
	for _, r := range requests {
		if r.fence != nil {
			s.Signal(r.fence.payload(), 1)
			r.fence.queue.Store(q.exec)
		}
	}
	if q.device.strict(config.StrictAsync) {
		s.Note = q.device.shots()
	}
	q.device.orderRemote()
	q.exec.Submit(s)
	return outcome, nil
}

// presentRequests reads the swapchains of a vkQueuePresentKHR, with what the chain says of each, and holds them to the
// rules. Nothing has changed if it fails.
func (q *queue) presentRequests(info *vk.PresentInfoKHR) ([]presentRequest, error) {
	n := info.SwapchainCount
	handles, indices := vk.Slice(info.PSwapchains, n), vk.Slice(info.PImageIndices, n)
	if len(handles) == 0 || len(indices) == 0 {
		return nil, invalid(vk.VUID_VkPresentInfoKHR_swapchainCount_arraylength, "%d swapchains, or a list is NULL", n)
	}
	list := make([]presentRequest, 0, min(len(handles), maxSwapchainImages))
	for i, h := range handles {
		c := live(swapchains, h)
		switch {
		case slices.Contains(handles[:i], h):
			return nil, invalid(vk.VUID_VkPresentInfoKHR_pSwapchain_09231, "swapchain %#x is there twice", c.handle)
		case indices[i] >= uint32(len(c.images)):
			return nil, invalid(vk.VUID_VkPresentInfoKHR_pImageIndices_01430, "image %d of %d of swapchain %#x", indices[i],
				len(c.images), c.handle)
		}
		if state := c.chain.State(int(indices[i])); state != present.Acquired {
			return nil, invalid(vk.VUID_VkPresentInfoKHR_pImageIndices_01430, "image %d of swapchain %#x is %v, not acquired",
				indices[i], c.handle, state)
		}
		list = append(list, presentRequest{swapchain: c, image: indices[i], mode: c.mode})
	}
	for _, read := range []func(*vk.PresentInfoKHR, []presentRequest) error{
		q.readPresentIDs, q.readPresentModes, q.readPresentFences, q.readPresentMasks} {
		if info.PNext == nil {
			break
		}
		if err := read(info, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readPresentIDs takes VkPresentIdKHR and VkPresentId2KHR.
func (q *queue) readPresentIDs(info *vk.PresentInfoKHR, list []presentRequest) error {
	var ids []uint64
	var grows vk.VUID
	if p := vk.Find[vk.PresentIdKHR](info.PNext); p != nil {
		ids, grows = vk.Slice(p.PPresentIds, p.SwapchainCount), vk.VUID_VkPresentIdKHR_presentIds_04999
		switch {
		case p.SwapchainCount != info.SwapchainCount:
			return invalid(vk.VUID_VkPresentIdKHR_swapchainCount_04998, "%d IDs for %d swapchains", p.SwapchainCount,
				info.SwapchainCount)
		case ids != nil && !q.device.allows("presentId", vk.VUID_VkPresentInfoKHR_pNext_06235):
			return invalid(vk.VUID_VkPresentInfoKHR_pNext_06235, "VkPresentIdKHR needs the presentId feature")
		}
	}
	if p := vk.Find[vk.PresentId2KHR](info.PNext); p != nil {
		ids, grows = vk.Slice(p.PPresentIds, p.SwapchainCount), vk.VUID_VkPresentId2KHR_presentIds_10819
		if p.SwapchainCount != info.SwapchainCount {
			return invalid(vk.VUID_VkPresentId2KHR_swapchainCount_10818, "%d IDs for %d swapchains", p.SwapchainCount,
				info.SwapchainCount)
		}
		for _, r := range list {
			if r.swapchain.flags&vk.SWAPCHAIN_CREATE_PRESENT_ID_2_BIT_KHR == 0 {
				return invalid(vk.VUID_VkPresentInfoKHR_pNext_10821,
					"swapchain %#x was created without VK_SWAPCHAIN_CREATE_PRESENT_ID_2_BIT_KHR", r.swapchain.handle)
			}
		}
	}
	for i, id := range ids {
		if last := list[i].swapchain.chain.LastID(); id != 0 && id <= last {
			return invalid(grows, "ID %d of swapchain %#x is not above %d", id, list[i].swapchain.handle, last)
		}
		list[i].id = id
	}
	return nil
}

// readPresentModes takes VkSwapchainPresentModeInfoKHR.
func (q *queue) readPresentModes(info *vk.PresentInfoKHR, list []presentRequest) error {
	m := vk.Find[vk.SwapchainPresentModeInfoKHR](info.PNext)
	if m == nil {
		return nil
	}
	if m.SwapchainCount != info.SwapchainCount {
		return invalid(vk.VUID_VkSwapchainPresentModeInfoKHR_swapchainCount_07760, "%d modes for %d swapchains",
			m.SwapchainCount, info.SwapchainCount)
	}
	for i, mode := range vk.Slice(m.PPresentModes, m.SwapchainCount) {
		if c := list[i].swapchain; !slices.Contains(c.modes, mode) {
			return invalid(vk.VUID_VkSwapchainPresentModeInfoKHR_pPresentModes_07761,
				"%v is none of the modes with which swapchain %#x was created", mode, c.handle)
		}
		list[i].mode = mode
	}
	return nil
}

// readPresentFences takes VkSwapchainPresentFenceInfoKHR.
func (q *queue) readPresentFences(info *vk.PresentInfoKHR, list []presentRequest) error {
	p := vk.Find[vk.SwapchainPresentFenceInfoKHR](info.PNext)
	switch {
	case p == nil:
		return nil
	case p.SwapchainCount != info.SwapchainCount:
		return invalid(vk.VUID_VkSwapchainPresentFenceInfoKHR_swapchainCount_07757, "%d fences for %d swapchains",
			p.SwapchainCount, info.SwapchainCount)
	case !q.device.allows("swapchainMaintenance1", vk.VUID_VkPresentInfoKHR_swapchainMaintenance1_10158):
		return invalid(vk.VUID_VkPresentInfoKHR_swapchainMaintenance1_10158,
			"fences of presentations need the swapchainMaintenance1 feature")
	}
	handles := vk.Slice(p.PFences, p.SwapchainCount)
	for i, h := range handles {
		if h == 0 {
			continue
		}
		f := live(fences, h)
		payload := f.payload()
		signalled, pending := payload.Value() != 0, payload.HasPending()
		payload.Release()
		switch {
		case signalled:
			return invalid(vk.VUID_VkSwapchainPresentFenceInfoKHR_pFences_07758, "fence %#x is signalled", f.handle)
		case pending || slices.Contains(handles[:i], h):
			return invalid(vk.VUID_VkSwapchainPresentFenceInfoKHR_pFences_07759,
				"fence %#x is to be signalled by something else as well", f.handle)
		}
		list[i].fence = f
	}
	return nil
}

// readPresentMasks holds VkDeviceGroupPresentInfoKHR to its rules. Which physical device presents makes no difference.
func (q *queue) readPresentMasks(info *vk.PresentInfoKHR, list []presentRequest) error {
	g := vk.Find[vk.DeviceGroupPresentInfoKHR](info.PNext)
	if g == nil {
		return nil
	}
	if g.SwapchainCount != 0 && g.SwapchainCount != info.SwapchainCount {
		return invalid(vk.VUID_VkDeviceGroupPresentInfoKHR_swapchainCount_01297, "%d device masks for %d swapchains",
			g.SwapchainCount, info.SwapchainCount)
	}
	masks := vk.Slice(g.PDeviceMasks, g.SwapchainCount)
	for i, r := range list {
		if bits.OnesCount32(uint32(g.Mode)) != 1 || g.Mode&^r.swapchain.group != 0 {
			return invalid(vk.VUID_VkDeviceGroupPresentInfoKHR_mode_01303, "mode %v of swapchain %#x with modes %v", g.Mode,
				r.swapchain.handle, r.swapchain.group)
		}
		if masks == nil {
			continue
		}
		mask := masks[i]
		switch acquired := r.swapchain.masks[r.image]; {
		case bits.OnesCount32(mask) != 1 || mask&^q.device.everyDevice() != 0:
			return invalid(vk.VUID_VkDeviceGroupPresentInfoKHR_mode_01298, "device mask %#b names not one device of %d", mask,
				len(q.device.members))
		case mask&^acquired != 0:
			return invalid(vk.VUID_VkDeviceGroupPresentInfoKHR_pDeviceMasks_01302,
				"device mask %#b of an image that was acquired with %#b", mask, acquired)
		}
	}
	return nil
}

func releaseSwapchainImagesKHR(d *device, info *vk.ReleaseSwapchainImagesInfoKHR) vk.Result {
	c := live(swapchains, info.Swapchain)
	if !d.allows("swapchainMaintenance1", vk.VUID_vkReleaseSwapchainImagesKHR_swapchainMaintenance1_10159) {
		return c.fail("vkReleaseSwapchainImagesKHR",
			invalid(vk.VUID_vkReleaseSwapchainImagesKHR_swapchainMaintenance1_10159,
				"the command needs the swapchainMaintenance1 feature"))
	}
	var list []int
	for _, i := range vk.Slice(info.PImageIndices, info.ImageIndexCount) {
		if i >= uint32(len(c.images)) || len(list) == len(c.images) {
			return c.fail("vkReleaseSwapchainImagesKHR", invalid(
				vk.VUID_VkReleaseSwapchainImagesInfoKHR_pImageIndices_07785, "image %d of %d, or one is there twice", i,
				len(c.images)))
		}
		list = append(list, int(i))
	}
	if err := c.chain.Release(list...); err != nil {
		return c.fail("vkReleaseSwapchainImagesKHR", invalid(
			vk.VUID_VkReleaseSwapchainImagesInfoKHR_pImageIndices_07785, "images %v: %w", list, err))
	}
	return vk.SUCCESS
}

func waitForPresentKHR(d *device, c *swapchain, id, timeout uint64) vk.Result {
	var err error
	switch {
	case !d.allows("presentWait", vk.VUID_vkWaitForPresentKHR_presentWait_06234):
		err = invalid(vk.VUID_vkWaitForPresentKHR_presentWait_06234, "the command needs the presentWait feature")
	case c.chain.Retired():
		err = vk.Errorf(vk.ERROR_OUT_OF_DATE_KHR, vk.VUID_vkWaitForPresentKHR_swapchain_04997, "the swapchain is retired")
	}
	return c.waitShown("vkWaitForPresentKHR", id, timeout, err)
}

// waitForPresent2KHR also waits for what a retired swapchain presents.
func waitForPresent2KHR(d *device, c *swapchain, info *vk.PresentWait2InfoKHR) vk.Result {
	var err error
	switch {
	case !d.allows("presentWait2", vk.VUID_vkWaitForPresent2KHR_presentWait2_10814):
		err = invalid(vk.VUID_vkWaitForPresent2KHR_presentWait2_10814, "the command needs the presentWait2 feature")
	case c.flags&vk.SWAPCHAIN_CREATE_PRESENT_WAIT_2_BIT_KHR == 0:
		err = invalid(vk.VUID_vkWaitForPresent2KHR_None_10816,
			"the swapchain was created without VK_SWAPCHAIN_CREATE_PRESENT_WAIT_2_BIT_KHR")
	}
	return c.waitShown("vkWaitForPresent2KHR", info.PresentId, info.Timeout, err)
}

// waitShown waits for the presentation with an ID, unless there is an error already.
func (c *swapchain) waitShown(command string, id, timeout uint64, err error) vk.Result {
	if err != nil {
		return c.fail(command, err)
	}
	return c.device.waited(command, c.chain.WaitShown(id, timeout, c.device.stop))
}
