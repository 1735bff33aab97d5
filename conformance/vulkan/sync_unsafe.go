package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// SemaphoreTypeInfo builds a VkSemaphoreTypeCreateInfo for a timeline semaphore in a.
func SemaphoreTypeInfo(a *Arena, initial uint64, next unsafe.Pointer) unsafe.Pointer {
	x := Struct[vk.SemaphoreTypeCreateInfo](a)
	x.PNext = next
	x.SemaphoreType = vk.SEMAPHORE_TYPE_TIMELINE
	x.InitialValue = initial
	return unsafe.Pointer(x)
}

// ExportSemaphoreInfo builds a VkExportSemaphoreCreateInfo in a.
func ExportSemaphoreInfo(a *Arena, types vk.ExternalSemaphoreHandleTypeFlags, next unsafe.Pointer) unsafe.Pointer {
	x := Struct[vk.ExportSemaphoreCreateInfo](a)
	x.PNext = next
	x.HandleTypes = types
	return unsafe.Pointer(x)
}

// ExportFenceInfo builds a VkExportFenceCreateInfo in a.
func ExportFenceInfo(a *Arena, types vk.ExternalFenceHandleTypeFlags, next unsafe.Pointer) unsafe.Pointer {
	x := Struct[vk.ExportFenceCreateInfo](a)
	x.PNext = next
	x.HandleTypes = types
	return unsafe.Pointer(x)
}

// CreateSemaphore is vkCreateSemaphore with next chained behind its structure.
func (d *Device) CreateSemaphore(next unsafe.Pointer) (vk.Semaphore, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.SemaphoreCreateInfo](&a)
	info.PNext = next
	out := New[vk.Semaphore](&a)
	r := vk.Result(d.Call("vkCreateSemaphore", addr(info), 0, addr(out)))
	return *out, r
}

// DestroySemaphore is vkDestroySemaphore.
func (d *Device) DestroySemaphore(s vk.Semaphore) { d.Call("vkDestroySemaphore", uintptr(s), 0) }

// CounterValue is vkGetSemaphoreCounterValueKHR.
func (d *Device) CounterValue(s vk.Semaphore) (uint64, vk.Result) {
	var a Arena
	defer a.Close()
	out := New[uint64](&a)
	r := vk.Result(d.Call("vkGetSemaphoreCounterValueKHR", uintptr(s), addr(out)))
	return *out, r
}

// SignalSemaphore is vkSignalSemaphoreKHR.
func (d *Device) SignalSemaphore(s vk.Semaphore, value uint64) vk.Result {
	var a Arena
	defer a.Close()
	info := Struct[vk.SemaphoreSignalInfo](&a)
	info.Semaphore, info.Value = s, value
	return vk.Result(d.Call("vkSignalSemaphoreKHR", addr(info)))
}

// A Point is a semaphore and, of a timeline semaphore, its value.
type Point struct {
	Semaphore vk.Semaphore
	Value     uint64
}

// split makes the two arrays of which VkSemaphoreWaitInfo and VkSubmitInfo consist.
func split(a *Arena, points []Point) (*vk.Semaphore, *uint64) {
	s, v := Make[vk.Semaphore](a, len(points)), Make[uint64](a, len(points))
	for i, p := range points {
		s[i], v[i] = p.Semaphore, p.Value
	}
	return First(s), First(v)
}

// WaitSemaphores is vkWaitSemaphoresKHR; timeout is in nanoseconds.
func (d *Device) WaitSemaphores(flags vk.SemaphoreWaitFlags, timeout uint64, points ...Point) vk.Result {
	var a Arena
	defer a.Close()
	info := Struct[vk.SemaphoreWaitInfo](&a)
	info.Flags = flags
	info.SemaphoreCount = uint32(len(points))
	info.PSemaphores, info.PValues = split(&a, points)
	return vk.Result(d.Call("vkWaitSemaphoresKHR", addr(info), uintptr(timeout)))
}

// SemaphoreFd is vkGetSemaphoreFdKHR.
func (d *Device) SemaphoreFd(s vk.Semaphore, ht vk.ExternalSemaphoreHandleTypeFlagBits) (int, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.SemaphoreGetFdInfoKHR](&a)
	info.Semaphore, info.HandleType = s, ht
	fd := Put(&a, int32(-2))
	r := vk.Result(d.Call("vkGetSemaphoreFdKHR", addr(info), addr(fd)))
	return int(*fd), r
}

// ImportSemaphoreFd is vkImportSemaphoreFdKHR.
func (d *Device) ImportSemaphoreFd(s vk.Semaphore, ht vk.ExternalSemaphoreHandleTypeFlagBits,
	flags vk.SemaphoreImportFlags, fd int) vk.Result {
	var a Arena
	defer a.Close()
	info := Struct[vk.ImportSemaphoreFdInfoKHR](&a)
	info.Semaphore, info.HandleType, info.Flags, info.Fd = s, ht, flags, int32(fd)
	return vk.Result(d.Call("vkImportSemaphoreFdKHR", addr(info)))
}

// CreateFence is vkCreateFence with next chained behind its structure.
func (d *Device) CreateFence(flags vk.FenceCreateFlags, next unsafe.Pointer) (vk.Fence, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.FenceCreateInfo](&a)
	info.PNext, info.Flags = next, flags
	out := New[vk.Fence](&a)
	r := vk.Result(d.Call("vkCreateFence", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyFence is vkDestroyFence.
func (d *Device) DestroyFence(f vk.Fence) { d.Call("vkDestroyFence", uintptr(f), 0) }

// FenceStatus is vkGetFenceStatus.
func (d *Device) FenceStatus(f vk.Fence) vk.Result {
	return vk.Result(d.Call("vkGetFenceStatus", uintptr(f)))
}

// ResetFences is vkResetFences.
func (d *Device) ResetFences(fences ...vk.Fence) vk.Result {
	var a Arena
	defer a.Close()
	return vk.Result(d.Call("vkResetFences", uintptr(len(fences)), addr(First(copied(&a, fences)))))
}

// WaitFences is vkWaitForFences; timeout is in nanoseconds.
func (d *Device) WaitFences(all bool, timeout uint64, fences ...vk.Fence) vk.Result {
	var a Arena
	defer a.Close()
	waitAll := uintptr(vk.FALSE)
	if all {
		waitAll = vk.TRUE
	}
	return vk.Result(d.Call("vkWaitForFences", uintptr(len(fences)), addr(First(copied(&a, fences))), waitAll,
		uintptr(timeout)))
}

// copied puts a copy of s into a.
func copied[T any](a *Arena, s []T) []T {
	c := Make[T](a, len(s))
	copy(c, s)
	return c
}

// FenceFd is vkGetFenceFdKHR.
func (d *Device) FenceFd(f vk.Fence, ht vk.ExternalFenceHandleTypeFlagBits) (int, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.FenceGetFdInfoKHR](&a)
	info.Fence, info.HandleType = f, ht
	fd := Put(&a, int32(-2))
	r := vk.Result(d.Call("vkGetFenceFdKHR", addr(info), addr(fd)))
	return int(*fd), r
}

// ImportFenceFd is vkImportFenceFdKHR.
func (d *Device) ImportFenceFd(f vk.Fence, ht vk.ExternalFenceHandleTypeFlagBits, flags vk.FenceImportFlags,
	fd int) vk.Result {
	var a Arena
	defer a.Close()
	info := Struct[vk.ImportFenceFdInfoKHR](&a)
	info.Fence, info.HandleType, info.Flags, info.Fd = f, ht, flags, int32(fd)
	return vk.Result(d.Call("vkImportFenceFdKHR", addr(info)))
}

// CreateEvent is vkCreateEvent.
func (d *Device) CreateEvent() (vk.Event, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.EventCreateInfo](&a)
	out := New[vk.Event](&a)
	r := vk.Result(d.Call("vkCreateEvent", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyEvent is vkDestroyEvent.
func (d *Device) DestroyEvent(e vk.Event) { d.Call("vkDestroyEvent", uintptr(e), 0) }

// EventStatus is vkGetEventStatus.
func (d *Device) EventStatus(e vk.Event) vk.Result {
	return vk.Result(d.Call("vkGetEventStatus", uintptr(e)))
}

// SetEvent is vkSetEvent.
func (d *Device) SetEvent(e vk.Event) vk.Result { return vk.Result(d.Call("vkSetEvent", uintptr(e))) }

// ResetEvent is vkResetEvent.
func (d *Device) ResetEvent(e vk.Event) vk.Result {
	return vk.Result(d.Call("vkResetEvent", uintptr(e)))
}
