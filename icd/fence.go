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
	polls polls
}

func createFence(d *device, info *vk.FenceCreateInfo, _ *vk.AllocationCallbacks, out *vk.Fence) vk.Result {
	f := &fence{carrier: carrier{child: child{device: d}}}
	exported := formNone
	if e := vk.Find[vk.ExportFenceCreateInfo](info.PNext); e != nil && e.HandleTypes != 0 {
		if exported = fenceForm(e.HandleTypes); exported == formNone {
			return d.fail("vkCreateFence", vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE,
				vk.VUID_VkExportFenceCreateInfo_handleTypes_01446,
				"a fence can be exported as OPAQUE_FD or as SYNC_FD, not as %v", e.HandleTypes))
		}
	}
	var err error
	if f.permanent, err = d.newPayload(syncobj.Fence, uint64(info.Flags&vk.FENCE_CREATE_SIGNALED_BIT), exported); err !=
		nil {
		return d.fail("vkCreateFence", err)
	}
	*out = vk.Fence(d.add(f))
	return vk.SUCCESS
}

// release ends the fence.
func (f *fence) release() {
	if f.pending() {
		f.fail("vkDestroyFence", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyFence_fence_01120,
			"the fence is destroyed before the queue has signalled it"))
	}
	f.carrier.release()
}

func resetFences(_ *device, count uint32, list *vk.Fence) vk.Result {
	for _, handle := range vk.Slice(list, count) {
		f := live(fences, handle)
		if f.pending() {
			return f.fail("vkResetFences", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkResetFences_pFences_01123,
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

func getFenceStatus(_ *device, f *fence) vk.Result {
	r := vk.NOT_READY
	f.polls.poll(func(timeout uint64) bool {
		points := [1]syncobj.Point{{Payload: f.payload()}}
		if s := f.device.wait("vkGetFenceStatus", points[:], true, timeout); s != vk.TIMEOUT {
			r = s
		}
		return r != vk.NOT_READY
	})
	return r
}

// waitForFences waits for all fences or for any of them, timeout in nanoseconds.
func waitForFences(d *device, count uint32, list *vk.Fence, waitAll uint32, timeout uint64) vk.Result {
	var few [4]syncobj.Point
	points := few[:0]
	for _, handle := range vk.Slice(list, count) {
		f := live(fences, handle)
		p := f.payload()
		points = append(points, syncobj.Point{Payload: p})
		// The caller would sleep until this fence is signalled, without a time limit. It does the queue's work meanwhile.
		if q := f.queue.Load(); q != nil && timeout == math.MaxUint64 && (count == 1 || waitAll != vk.FALSE) {
			q.Help(func() bool { return p.Value() != 0 })
		}
	}
	return d.wait("vkWaitForFences", points, waitAll != vk.FALSE, timeout)
}
