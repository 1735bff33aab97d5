package icd

import (
	"errors"
	"sync"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

// form is how a payload leaves the process.
type form uint8

const (
	formNone   form = iota
	formOpaque      // by reference: OPAQUE_FD
	formSync        // by copy: SYNC_FD
)

// held is a payload that a fence or semaphore has, with one reference.
type held struct {
	*syncobj.Payload
	form     form // how it can be exported
	imported bool
}

// carrier is what fences and semaphores have in common: a permanent payload, and while there is one a
// temporary payload that an import put in front of it (chapters "Importing Fence Payloads", "Importing
// Semaphore Payloads").
type carrier struct {
	child
	mu        sync.Mutex
	permanent held
	temporary held
}

// newPayload makes the payload with which a fence or semaphore is created.
func (d *device) newPayload(kind syncobj.Kind, initial uint64, f form) (held, error) {
	if f != formOpaque {
		return held{Payload: d.fresh(syncobj.New(kind, initial)), form: f}, nil
	}
	d.shareAsync()
	p, err := syncobj.NewShared(kind, initial, d.identity())
	if err != nil {
		return held{}, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%w", err)
	}
	return held{Payload: d.fresh(p), form: f}, nil
}

func (d *device) identity() syncobj.Identity {
	return syncobj.Identity{DriverUUID: d.physical.driverUUID, DeviceUUID: d.members[0].deviceUUID}
}

// current returns the payload that operations work on. mu is held.
func (c *carrier) current() *held {
	if c.temporary.Payload != nil {
		return &c.temporary
	}
	return &c.permanent
}

// payload returns the current payload with a reference for the caller.
func (c *carrier) payload() *syncobj.Payload {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current().Retain()
}

// drop ends a temporary import: the permanent payload is there again. mu is held.
func (c *carrier) drop() {
	if c.temporary.Payload != nil {
		c.temporary.Release()
		c.temporary = held{}
	}
}

// pending says whether a queue is going to signal the current payload.
func (c *carrier) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.current()
	return p.HasPending() && (p.Kind() == syncobj.Timeline || p.Value() == 0)
}

// replace imports a payload. The temporary one goes in either case.
func (c *carrier) replace(h held, temporary bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	if temporary {
		c.temporary = h
		return
	}
	c.permanent.Release()
	c.permanent = h
}

// release ends the carrier's life.
func (c *carrier) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	c.permanent.Release()
}

// exportRules are the rules of vkGetFenceFdKHR or vkGetSemaphoreFdKHR.
type exportRules struct{ form, imported, unsignalled vk.VUID }

// export returns a new descriptor of the current payload. A copy leaves behind what a reset of the fence or a
// wait for the semaphore would have left: an unsignalled payload, or the permanent one.
func (c *carrier) export(f form, rules *exportRules) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.current()
	switch {
	case h.form != f && h.imported:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, rules.imported,
			"the payload was imported from a handle of another type")
	case h.form != f:
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, rules.form,
			"the %v was not created to be exported as this type", h.Kind())
	case f == formOpaque:
		return h.Export()
	case !h.imported && h.Value() == 0 && !h.HasPending() && h.Value() == 0:
		// A queue may signal between the first two checks: it sets the value, then it is no longer pending. The second
		// look at the value sees that.
		return -1, vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, rules.unsignalled,
			"the %v is not signalled, and no queue is going to signal it: there is nothing to copy", h.Kind())
	}
	fd, err := h.ExportSyncFile()
	if err != nil {
		return -1, err
	}
	c.device.madeSyncFile(h.Payload, fd)
	if h == &c.temporary {
		c.drop()
		return fd, nil
	}
	// The queue that is going to signal the old payload has a reference to it.
	h.Release()
	h.Payload = c.device.fresh(syncobj.New(h.Kind(), 0))
	return fd, nil
}

// waited maps the outcome of a host's wait, by command, for points that may be orphans.
func (d *device) waited(command string, err error) vk.Result {
	switch {
	case err == nil:
		d.orderRemote()
		return vk.SUCCESS
	case errors.Is(err, syncobj.ErrTimeout):
		return vk.TIMEOUT
	case errors.Is(err, syncobj.ErrStopped):
		return vk.ERROR_DEVICE_LOST
	case errors.Is(err, syncobj.ErrOrphaned):
		r := d.fail(command, vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "%w", err))
		d.lose()
		return r
	}
	return d.fail(command, err)
}

// wait waits for the points, whose payloads' references it takes.
func (d *device) wait(command string, points []syncobj.Point, all bool, timeout uint64) vk.Result {
	err := syncobj.Wait(points, all, timeout, d.stop)
	if err == nil {
		d.hostWaited(points, all)
	}
	release(points)
	return d.waited(command, err)
}

func release(points []syncobj.Point) {
	for i := range points {
		points[i].Payload.Release()
	}
}
