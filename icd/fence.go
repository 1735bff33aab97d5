package icd

import (
	"math"
	"sync/atomic"

	"farside/internal/exec"
	"farside/internal/syncobj"
	"farside/internal/vk"
)

// fence is a VkFence.
type fence struct {
	carrier
	queue atomic.Pointer[exec.Queue] // that it was submitted to last
}

func createFence(h vk.Device, info *vk.FenceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Fence) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateFence", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	f := &fence{carrier: carrier{device: d}}
	exported := formNone
	if e := vk.Find[vk.ExportFenceCreateInfo](info.PNext); e != nil && e.HandleTypes != 0 {
		if exported = fenceForm(e.HandleTypes); exported == formNone {
			return d.fail("vkCreateFence", vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, "VUID-VkExportFenceCreateInfo-handleTypes-01446",
				"a fence can be exported as OPAQUE_FD or as SYNC_FD, not as %v", e.HandleTypes))
		}
	}
	var err error
	if f.permanent, err = d.newPayload(syncobj.Fence, uint64(info.Flags&vk.FENCE_CREATE_SIGNALED_BIT), exported); err != nil {
		return d.fail("vkCreateFence", err)
	}
	*out = vk.Fence(fences.Insert(f))
	d.created(vk.OBJECT_TYPE_FENCE, uint64(*out))
	return vk.SUCCESS
}

func destroyFence(h vk.Device, handle vk.Fence, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	f := fences.Remove(uint64(handle))
	if f == nil {
		staleHandle("vkDestroyFence", vk.OBJECT_TYPE_FENCE, uint64(handle))
		return
	}
	if f.pending() {
		f.fail("vkDestroyFence", handle, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkDestroyFence-fence-01120",
			"the fence is destroyed before the queue has signalled it"))
	}
	f.release()
	f.device.destroyed(vk.OBJECT_TYPE_FENCE, uint64(handle))
}

// fail reports err as the outcome of command on this fence.
func (f *fence) fail(command string, handle vk.Fence, err error) vk.Result {
	return f.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_FENCE, uint64(handle)})
}

func resetFences(h vk.Device, count uint32, list *vk.Fence) vk.Result {
	for _, handle := range vk.Slice(list, count) {
		f := fences.Get(uint64(handle))
		if f == nil {
			return staleHandle("vkResetFences", vk.OBJECT_TYPE_FENCE, uint64(handle))
		}
		if f.pending() {
			return f.fail("vkResetFences", handle, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkResetFences-pFences-01123",
				"the fence is reset before the queue has signalled it"))
		}
		f.reset()
	}
	return vk.SUCCESS
}

// reset ends a temporary import and makes the permanent payload unsignalled.
func (f *fence) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
	f.permanent.Reset()
}

func getFenceStatus(h vk.Device, handle vk.Fence) vk.Result {
	f := fences.Get(uint64(handle))
	if f == nil {
		return staleHandle("vkGetFenceStatus", vk.OBJECT_TYPE_FENCE, uint64(handle))
	}
	points := [1]syncobj.Point{{Payload: f.payload()}}
	if r := f.device.wait("vkGetFenceStatus", points[:], true, 0); r != vk.TIMEOUT {
		return r
	}
	return vk.NOT_READY
}

// waitForFences waits for all fences or for any of them, timeout in nanoseconds.
func waitForFences(h vk.Device, count uint32, list *vk.Fence, waitAll uint32, timeout uint64) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkWaitForFences", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	var few [4]syncobj.Point
	points := few[:0]
	for _, handle := range vk.Slice(list, count) {
		f := fences.Get(uint64(handle))
		if f == nil {
			release(points)
			return staleHandle("vkWaitForFences", vk.OBJECT_TYPE_FENCE, uint64(handle))
		}
		if f.device != d {
			release(points)
			return f.fail("vkWaitForFences", handle, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkWaitForFences-pFences-parent",
				"the fence lives on another device"))
		}
		p := f.payload()
		points = append(points, syncobj.Point{Payload: p})
		// Who waits for this fence whatever happens may as well do what it waits for.
		if q := f.queue.Load(); q != nil && timeout == math.MaxUint64 && (count == 1 || waitAll != vk.FALSE) {
			q.Help(func() bool { return p.Value() != 0 })
		}
	}
	return d.wait("vkWaitForFences", points, waitAll != vk.FALSE, timeout)
}
