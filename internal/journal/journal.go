// Package journal keeps what happens in this process, for those who look at it afterwards: objects, allocations,
// exports and imports, work on queues, transfers by remote addresses, faults on command and findings.
//
// Nobody pays for a journal that nobody asked for: [On] is one load, and a caller asks it before it makes an [Event].
// Every event goes to each sink ([Attach]) as it happens, so that what is there after a signal, _exit(2) or a crash is
// all that had happened. Sinks are called one after the other under one lock, which is the last that anybody takes: a
// sink calls nothing that emits.
package journal

import (
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Kind says what an event is about. Its text is part of what reports and traces hold, and stays.
type Kind string

// The kinds. Beside each stands what its event has more than Time, Kind and Thread.
const (
	Heap     Kind = "heap"     // Heap, Size, Text: a memory heap of the physical device, when a device is made
	Create   Kind = "create"   // Object: an object was made; Parent
	Destroy  Kind = "destroy"  // Object
	Name     Kind = "name"     // Object: the application named it
	Allocate Kind = "allocate" // Object (a VkDeviceMemory), Size, Heap, Type, Payload
	Free     Kind = "free"     // Object, Size, Heap, Payload
	Export   Kind = "export"   // Object, Handle (the handle type's name), Payload: memory, semaphore or fence
	Import   Kind = "import"   // Object, Handle, Payload, Size for memory
	Map      Kind = "map"      // Object, Offset, Size
	Unmap    Kind = "unmap"    // Object
	Submit   Kind = "submit"   // Object (a VkQueue), Number: a submission was queued
	Execute  Kind = "execute"  // Object (a VkQueue), Number, Duration: a queue worked on it
	Wait     Kind = "wait"     // Object (a VkQueue), Payload, Value, Duration: a queue waited for a semaphore
	Signal   Kind = "signal"   // Object (a VkQueue), Payload, Value; Operation (OfFence)
	// Transfer is Operation (a verbs opcode), Address, Size, Duration, Text (the error, if it failed); Object (an ibv_qp)
	// and Value, if a queue pair of verbs did it.
	Transfer Kind = "transfer"
	// Present is Object (a VkSwapchainKHR), Parent (its VkImage), Number (of the frame), Value (the present ID).
	Present    Kind = "present"
	Packet     Kind = "packet"     // Operation (what went wrong), Object (an ibv_qp), Number (of the packet)
	Register   Kind = "register"   // Object (an ibv_mr), Address, Size, Text (rights): adapters may reach this memory
	Deregister Kind = "deregister" // Object, Address, Size, Text: the end of that
	Fault      Kind = "fault"      // Command (or queue.dispatch, rdma.write, …), Text: a fault on command
	Finding    Kind = "finding"    // ID, Text, Object: something is wrong in the application
	Error      Kind = "error"      // Command, ID (a VUID), Text, Object: a command failed
)

// OfFence is the Operation of a Signal of a fence; others are of semaphores.
const OfFence = "fence"

// Event is something that happened. Fields that a kind doesn't have are zero, and are left out of JSON, where numbers
// of 64 bits that are no quantities are strings: JavaScript would round them.
type Event struct {
	Time     int64  `json:"time"`               // nanoseconds of CLOCK_MONOTONIC, which all processes of a host share
	Duration int64  `json:"duration,omitempty"` // nanoseconds; Time is the beginning
	Kind     Kind   `json:"kind"`
	Thread   int    `json:"thread,omitempty"` // gettid(2)
	Object   Object `json:"object,omitzero"`
	Parent   Object `json:"parent,omitzero"`
	Command  string `json:"command,omitempty"` // such as vkAllocateMemory
	// Operation is a verb of the fabric, such as RDMA_WRITE, or of a queue, such as dispatch.
	Operation string   `json:"operation,omitempty"`
	ID        string   `json:"id,omitempty"`
	Text      string   `json:"text,omitempty"`
	Handle    string   `json:"handle,omitempty"` // such as OPAQUE_FD
	Payload   uint64   `json:"payload,omitempty,string"`
	Value     uint64   `json:"value,omitempty,string"` // of a timeline semaphore; wr_id of a transfer of verbs
	Number    uint64   `json:"number,omitempty"`
	Offset    uint64   `json:"offset,omitempty"` // bytes
	Size      uint64   `json:"size,omitempty"`   // bytes
	Address   uint64   `json:"address,omitempty,string"`
	Heap      uint32   `json:"heap,omitempty"`
	Type      uint32   `json:"type,omitempty"` // memory type
	Stack     []string `json:"stack,omitempty"`
}

// Object names a Vulkan object, or a region of the fabric.
type Object struct {
	Type   string `json:"type,omitempty"` // such as VkDeviceMemory
	Handle uint64 `json:"handle,omitempty,string"`
	Name   string `json:"name,omitempty"` // the application's name for it
}

// Sink takes events. Write is called by one goroutine at a time, must not block for long, and keeps no event's slices.
type Sink interface {
	Write(e *Event)
}

var (
	on    atomic.Bool
	mu    sync.Mutex
	sinks []Sink
)

// On says whether anybody reads the journal.
func On() bool { return on.Load() }

// Attach adds a sink, which gets every event from now on.
func Attach(s Sink) {
	mu.Lock()
	defer mu.Unlock()
	sinks = append(sinks, s)
	on.Store(true)
}

// Detach takes a sink away. When it returns, the sink gets no more events.
func Detach(s Sink) {
	mu.Lock()
	defer mu.Unlock()
	sinks = slices.DeleteFunc(sinks, func(other Sink) bool { return other == s })
	on.Store(len(sinks) > 0)
}

// Emit gives an event to every sink. Where e lacks them, it gets the time, less its duration, and the calling thread.
func Emit(e Event) {
	if !On() {
		return
	}
	if e.Time == 0 {
		e.Time = Now() - e.Duration
	}
	if e.Thread == 0 {
		e.Thread = unix.Gettid()
	}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range sinks {
		s.Write(&e)
	}
}

// Now is the time of events: nanoseconds of CLOCK_MONOTONIC.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for unknown clocks only
	return t.Nano()
}
