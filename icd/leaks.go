package icd

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/callsite"
	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/gate"
	"farside/internal/vk"
)

// origin is where the application called the driver.
type origin = callsite.Origin

// here returns the origin of the call that the goroutine serves, with FARSIDE_STRICT=leaks.
func here() *origin {
	if !finding.On(config.StrictLeaks) {
		return nil
	}
	r, ok := cabi.Caller()
	if !ok {
		return nil
	}
	o := origin(callsite.Walk(r))
	return &o
}

// leaksAtExit has what is left told when the process ends, once.
var leaksAtExit = sync.OnceFunc(func() { gate.AtExit(tellLeft) })

// tellLeft tells what the application leaves to the end of the process. Messengers are not told: the application's code
// and data may be gone.
func tellLeft() {
	for _, d := range devices.All() {
		of := ""
		if left := d.census(); left != "" {
			of = ", nor were its objects: " + left
		}
		tellAtExit(finding.LeftAtExit, d.made, fmt.Sprintf("the process ends, and the device was not destroyed%s", of),
			d.physical.instance, object{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)})
	}
	for _, i := range instances.All() {
		tellAtExit(finding.LeftAtExit, i.made, "the process ends, and the instance was not destroyed", i,
			object{vk.OBJECT_TYPE_INSTANCE, uint64(i.handle)})
	}
	handed.mu.Lock()
	defer handed.mu.Unlock()
	for number, h := range handed.out {
		if h.file.is(number) {
			tellAtExit(finding.LeakedDescriptor, h.made, fmt.Sprintf("the process ends, and descriptor %d, which %s returned, "+
				"was neither closed nor imported", number, h.command), h.instance, h.object)
		}
	}
}

func tellAtExit(id finding.ID, made *origin, text string, i *instance, o object) {
	f := &finding.Finding{ID: id, Text: text, Place: made.Place(), Stack: made.Lines("made")}
	f.Objects = append(f.Objects, i.journaled(o))
	finding.Tell(f)
}

// census counts the device's objects by their types.
func (d *device) census() string {
	count := map[string]int{}
	var bytes uint64
	for o := range d.children() {
		count[typeName(o.objectType())]++
		if m, ok := o.(*deviceMemory); ok {
			bytes += m.size
		}
	}
	var parts []string
	for name, n := range count {
		part := fmt.Sprintf("%d %s", n, name)
		if name == "VkDeviceMemory" {
			part += fmt.Sprintf(" (%d bytes)", bytes)
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// leaked tells of an object that its device is destroyed with.
func (d *device) leaked(o resident) {
	if made := o.base().made; d.strict(config.StrictLeaks) {
		d.physical.instance.find(finding.LeakedObject, made.Place(), made.Lines("made"),
			[]object{{o.objectType(), o.base().handle}}, "the device is destroyed, and %s was not", typeName(o.objectType()))
	}
}

// mostDestroyed is how many destroyed objects are remembered.
const mostDestroyed = 4096

// destroyed has where objects were destroyed, for those who use them afterwards.
var destroyed struct {
	mu    sync.Mutex
	at    map[uint64]*origin
	order []uint64
}

// remember notes where an object is being destroyed.
func remember(handle uint64) {
	at := here()
	destroyed.mu.Lock()
	defer destroyed.mu.Unlock()
	if destroyed.at == nil {
		destroyed.at = map[uint64]*origin{}
	}
	destroyed.at[handle] = at
	if destroyed.order = append(destroyed.order, handle); len(destroyed.order) > mostDestroyed {
		delete(destroyed.at, destroyed.order[0])
		destroyed.order = destroyed.order[1:]
	}
}

// usedDestroyed tells of the use of a handle whose object was destroyed.
func (i *instance) usedDestroyed(command string, t vk.ObjectType, h uint64) {
	if !finding.On(config.StrictLeaks) {
		return
	}
	destroyed.mu.Lock()
	at, known := destroyed.at[h]
	destroyed.mu.Unlock()
	if known {
		used := here()
		i.find(finding.UsedDestroyed, used.Place(), append(used.Lines("used"), at.Lines("destroyed")...), []object{{t, h}},
			"%s was given a %s that has been destroyed", command, typeName(t))
	}
}

// fileID tells a file from all others.
type fileID struct{ dev, ino uint64 }

func fileOf(number int) (id fileID, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(number, &st) != nil {
		return id, false
	}
	return fileID{st.Dev, st.Ino}, true
}

// is says whether a descriptor refers to the file.
func (id fileID) is(number int) bool {
	now, ok := fileOf(number)
	return ok && now == id
}

// handed are the descriptors that the application got and has neither closed nor given back, as far as the driver
// knows.
var handed struct {
	mu  sync.Mutex
	out map[int]handedOut
}

type handedOut struct {
	file     fileID
	made     *origin
	command  string
	instance *instance
	object   object
}

// handOut notes that a command gives the application a descriptor.
func (d *device) handOut(command string, number int, o object) {
	if !d.strict(config.StrictLeaks) {
		return
	}
	file, ok := fileOf(number)
	if !ok {
		return
	}
	handed.mu.Lock()
	defer handed.mu.Unlock()
	if handed.out == nil {
		handed.out = map[int]handedOut{}
	}
	handed.out[number] = handedOut{file, here(), command, d.physical.instance, o}
}

// takeBack notes the import of a descriptor. Where that failed, it tells if the number is one that the application got
// from the driver and has closed since: it may have closed it twice, and another's the second time.
func (d *device) takeBack(command string, number int, failed bool) {
	if !d.strict(config.StrictLeaks) {
		return
	}
	handed.mu.Lock()
	h, known := handed.out[number]
	delete(handed.out, number)
	handed.mu.Unlock()
	if known && failed && !h.file.is(number) {
		d.physical.instance.find(finding.ClosedDescriptor, h.made.Place(), h.made.Lines("returned"), []object{h.object},
			"%s: descriptor %d is not what %s returned: it was closed meanwhile", command, number, h.command)
	}
}

// keep notes the file of the payload, and where it came from.
func (m *deviceMemory) keep() {
	if number, ok := m.payload.FD(); ok {
		if file, ok := fileOf(number); ok {
			m.file = &file
		}
	}
}

// kept looks, before the payload goes, whether its descriptor is still the driver's. One that the application has
// closed may be another file by now, which stays open.
func (m *deviceMemory) kept() {
	number, ok := m.payload.FD()
	if !ok || m.file.is(number) {
		return
	}
	m.payload.Disown()
	m.device.physical.instance.find(finding.TakenDescriptor, m.made.Place(), m.made.Lines("imported or made"),
		[]object{m.object()}, "the application closed descriptor %d, which was the driver's: an import takes a descriptor "+
			"over, and a second close(2) hits whoever has the number then", number)
}
