package icd

import (
	"fmt"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/handle"
	"farside/internal/journal"
	"farside/internal/vk"
)

// Handles become objects in one place. icdgen writes an entry for each command (zz_generated_handles.go):
//
//   - It looks up the handles among the parameters, and those in the structures that parameters point to.
//   - It compares their device with the command's.
//   - It calls the command's function here, with *device, *buffer and so on.
//
// The function looks up the handles in structures a second time, with live.

// child is what the objects of a device have in common.
type child struct {
	device *device
	handle uint64
	made   *origin // with FARSIDE_STRICT=leaks
	owned  bool    // it ends with another object of the device, such as a swapchain's image
}

func (c *child) base() *child   { return c }
func (c *child) owner() *device { return c.device }

// release is for objects that hold nothing but memory of Go.
func (c *child) release() {}

// resident is an object whose parent is its device. icdgen writes publish, withdraw and objectType for each table of
// such objects, and device.children, which finds them there. A new kind of object embeds child, and has release if it
// holds more than memory of Go.
type resident interface {
	base() *child
	objectType() vk.ObjectType
	publish()       // gives it its handle
	withdraw() bool // takes its handle; false if that is gone already
	release()       // gives back what it holds: the last thing that happens to it
}

// childrenIn yields those objects in a table that belong to a device, and to no other object of it. It is false if
// yield was. Objects that come or go meanwhile may or may not be seen.
func childrenIn[T any, O interface {
	*T
	resident
}](table *handle.Table[T], d *device, yield func(resident) bool) bool {
	for _, o := range table.All() {
		if c := O(o).base(); c.device == d && !c.owned && !yield(O(o)) {
			return false
		}
	}
	return true
}

// add gives an object of the device its handle, which it returns.
func (d *device) add(o resident) uint64 {
	if d.strict(config.StrictLeaks) {
		o.base().made = here()
	}
	o.publish()
	if journal.On() {
		d.journalLife(journal.Create, object{o.objectType(), o.base().handle})
	}
	return o.base().handle
}

// end destroys an object of the device. Of several callers one gets true; the others came too late. An object that
// belongs to another one stays, and that is reported.
func (d *device) end(o resident) bool {
	if img, ok := o.(*image); ok && img.owned {
		img.fail("vkDestroyImage", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkDestroyImage_image_04882,
			"the image is a swapchain's"))
		return true
	}
	return d.finish(o)
}

// finish is end for whatever object.
func (d *device) finish(o resident) bool {
	if !o.withdraw() {
		return false
	}
	c, what := o.base(), object{o.objectType(), o.base().handle}
	if d.strict(config.StrictLeaks) {
		remember(c.handle)
	}
	if journal.On() {
		d.journalLife(journal.Destroy, what)
	}
	d.forget(what)
	o.release()
	return true
}

// live returns the object of a handle that the command's entry has found live. Only an application that destroys it in
// another thread meanwhile, against the rules of external synchronization, can make this panic; the boundary reports
// that, and the command ends.
func live[T any, K uint64 | uintptr, H ~uint64 | ~uintptr](table interface{ Get(K) *T }, h H) *T {
	o := table.Get(K(h))
	if o == nil {
		panic(fmt.Sprintf("%#x was destroyed in another thread while the command used it", uint64(h)))
	}
	return o
}

// refuse reports that a command was given a handle that is not live, or one that is but belongs to another parent: a
// device, an instance, or a pool. stale and foreign are the rules that it breaks. It returns VK_ERROR_UNKNOWN, for
// which every command that has a result allows.
func (i *instance) refuse(command string, t vk.ObjectType, h uint64, live bool, stale, foreign vk.VUID) vk.Result {
	err := vk.Errorf(vk.ERROR_UNKNOWN, stale, "%#x is not a live handle of type %v", h, t)
	if !live {
		defer i.usedDestroyed(command, t, h)
	} else {
		err = vk.Errorf(vk.ERROR_UNKNOWN, foreign, "%v %#x belongs to another parent than the command's", t, h)
	}
	return i.fail(command, err, object{t, h})
}

func (d *device) refuse(command string, t vk.ObjectType, h uint64, live bool, stale, foreign vk.VUID) vk.Result {
	return d.physical.instance.refuse(command, t, h, live, stale, foreign)
}

// refuseFirst reports that the object that a command is called on is not live, to the log and to all instances, since
// nothing says to which of them the caller belongs.
func refuseFirst(command string, t vk.ObjectType, h uint64, vuid vk.VUID) vk.Result {
	err := vk.Errorf(vk.ERROR_UNKNOWN, vuid, "%#x is not a live handle of type %v", h, t)
	reported := false
	for _, i := range instances.All() {
		if !reported {
			i.fail(command, err, object{t, h})
			reported = true
			continue
		}
		i.send(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
			vuid.String(), fmt.Sprintf("%s: %v (%v)", command, err, vk.ERROR_UNKNOWN), []object{{t, h}})
	}
	if !reported {
		finding.Broken()
		logger.Error(err.Error(), "command", command, "result", vk.ERROR_UNKNOWN, "vuid", vuid)
	}
	return vk.ERROR_UNKNOWN
}
