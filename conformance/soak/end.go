package main

import (
	"errors"
	"sync"
	"time"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// waitTimeout is the timeout of every wait: a node looks up that often whether the link is to close.
const waitTimeout = 500 * time.Millisecond

var (
	errClosing = errors.New("the link is closing")
	errLost    = errors.New("the device is lost")
)

// An end is a node's end of a link: right, where it writes, or left, where it reads.
type end struct {
	n       *node
	side    int
	d       *vulkan.Device
	queue   vk.Queue
	host    block   // where the pattern is written, or read
	shared  block   // exported by the writer, imported by the reader
	canvas  canvas  // in its place where it is drawn
	painter painter // of a writer that draws
	mine    vk.Semaphore
	theirs  vk.Semaphore
	fence   vk.Fence
	pool    vk.CommandPool
	buffer  vk.CommandBuffer
	done    chan struct{} // closed when run has ended; nil before it began

	mu      sync.Mutex
	closing bool
	awaits  uint64 // the value of theirs for which the queue may wait
}

// newEnd makes an end's objects and returns the descriptors that the other end is to take: the writer's
// memory and semaphore, or the reader's semaphore.
func newEnd(n *node, side int) (e *end, fds []int, err error) {
	e = &end{n: n, side: side, d: n.device, queue: n.queues[side]}
	defer func() {
		if err != nil {
			closeAll(fds)
			e.free()
			fds = nil
		}
	}()
	if e.host, err = newBlock(e.d, false, -1); err != nil {
		return e, fds, err
	}
	if side == right {
		fd, err := e.share()
		if err != nil {
			return e, fds, err
		}
		fds = append(fds, fd)
	}
	var a vulkan.Arena
	defer a.Close()
	var r vk.Result
	if e.mine,
		r = e.d.CreateSemaphore(vulkan.ExportSemaphoreInfo(&a, opaqueSemaphore, vulkan.SemaphoreTypeInfo(&a, 0, nil))); r !=
		vk.SUCCESS {
		return e, fds, must("vkCreateSemaphore", r)
	}
	if e.theirs, r = e.d.CreateSemaphore(vulkan.SemaphoreTypeInfo(&a, 0, nil)); r != vk.SUCCESS {
		return e, fds, must("vkCreateSemaphore", r)
	}
	fd, r := e.d.SemaphoreFd(e.mine, opaqueSemaphore)
	if r != vk.SUCCESS {
		return e, fds, must("vkGetSemaphoreFdKHR", r)
	}
	fds = append(fds, fd)
	if e.fence, r = e.d.CreateFence(0, nil); r != vk.SUCCESS {
		return e, fds, must("vkCreateFence", r)
	}
	if e.pool, r = e.d.CreateCommandPool(0); r != vk.SUCCESS {
		return e, fds, must("vkCreateCommandPool", r)
	}
	e.buffer, r = e.d.AllocateCommandBuffer(e.pool)
	return e, fds, must("vkAllocateCommandBuffers", r)
}

// take imports what the other end offered, and begins to run. It owns the descriptors.
func (e *end) take(fds []int) (err error) {
	defer func() { closeAll(fds) }()
	if want := 1 + e.side; len(fds) != want {
		return errors.New("a wrong number of descriptors came")
	}
	if e.side == left {
		if err = e.accept(fds[0]); err != nil {
			return err
		}
		fds = fds[1:]
	}
	if r := e.d.ImportSemaphoreFd(e.theirs, opaqueSemaphore, 0, fds[0]); r != vk.SUCCESS {
		return must("vkImportSemaphoreFdKHR", r)
	}
	fds = nil
	if err := e.record(); err != nil {
		return err
	}
	e.done = make(chan struct{})
	go func() {
		err := e.run()
		close(e.done) // first, as the node's main goroutine may wait for it
		e.n.endings <- ending{e, err}
	}()
	return nil
}

// run exchanges buffers until the link closes or something fails.
func (e *end) run() error {
	for round := uint64(1); ; round++ {
		var err error
		if e.side == right {
			err = e.write(round)
		} else {
			err = e.read(round)
		}
		if err != nil {
			return err
		}
		e.n.rounds[e.side].Add(1)
	}
}

// write sends a round once the reader has answered the one before. Every other time the host waits first, and
// else the queue alone.
func (e *end) write(round uint64) error {
	write(e.host.bytes, e.n.id, round)
	if round%2 == 0 {
		if err := e.waitHost(round - 1); err != nil {
			return err
		}
	}
	return e.submit(round-1, vulkan.Batch{Buffers: []vk.CommandBuffer{e.buffer},
		Signal: []vulkan.Point{{Semaphore: e.mine, Value: round}}})
}

// read waits for a round, by the host or by the queue, checks it and answers.
func (e *end) read(round uint64) error {
	if round%3 == 0 {
		if err := e.waitHost(round); err != nil {
			return err
		}
	}
	if err := e.submit(round, vulkan.Batch{Buffers: []vk.CommandBuffer{e.buffer}}); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return errClosing
	}
	if err := check(e.host.bytes, round); err != nil {
		return err
	}
	return e.result("vkSignalSemaphore", e.d.SignalSemaphore(e.mine, round))
}

// waitHost waits on the host until theirs has reached value.
func (e *end) waitHost(value uint64) error {
	return e.wait("vkWaitSemaphores", func(timeout uint64) vk.Result {
		return e.d.WaitSemaphores(0, timeout, vulkan.Point{Semaphore: e.theirs, Value: value})
	})
}

// wait repeats a wait until it succeeds or the link closes.
func (e *end) wait(what string, wait func(timeout uint64) vk.Result) error {
	for {
		start := time.Now()
		r := wait(uint64(waitTimeout))
		e.n.late(time.Since(start) - waitTimeout)
		if r != vk.TIMEOUT {
			return e.result(what, r)
		}
		if e.isClosing() {
			return errClosing
		}
	}
}

// submit lets the queue wait for theirs to reach value, and then waits for the fence. While the link closes
// it still waits: close sees to it that the queue comes to its end.
func (e *end) submit(value uint64, b vulkan.Batch) error {
	b.Wait = []vulkan.Point{{Semaphore: e.theirs, Value: value}}
	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return errClosing
	}
	e.awaits = value
	r := e.d.SubmitBatches(e.queue, e.fence, b)
	e.mu.Unlock()
	if r != vk.SUCCESS {
		return e.result("vkQueueSubmit", r)
	}
	for {
		err := e.wait("vkWaitForFences", func(timeout uint64) vk.Result { return e.d.WaitFences(true, timeout, e.fence) })
		if err == errClosing {
			continue
		}
		if err != nil {
			return err
		}
		return e.result("vkResetFences", e.d.ResetFences(e.fence))
	}
}

func (e *end) isClosing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

func (e *end) result(what string, r vk.Result) error {
	if r == vk.ERROR_DEVICE_LOST {
		return errLost
	}
	return must(what, r)
}

// hush tells a reader that what comes from now on may be half of a round.
func (e *end) hush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
}

// close ends the link on this side. The supervisor hushes the reader, closes the writer, and then the reader:
// so whoever closes is the only one that still signals theirs, and by that lets a waiting queue go on. If the
// other node is dead, the device may have been lost instead.
func (e *end) close() {
	e.hush()
	if e.done != nil {
		if v, r := e.d.CounterValue(e.theirs); r == vk.SUCCESS && v < e.awaits {
			e.d.SignalSemaphore(e.theirs, e.awaits)
		}
		<-e.done
	}
	e.free()
}

func (e *end) free() {
	e.d.DestroyCommandPool(e.pool)
	e.d.DestroyFence(e.fence)
	e.d.DestroySemaphore(e.mine)
	e.d.DestroySemaphore(e.theirs)
	if drawing() {
		e.painter.free(e.d)
		e.canvas.free(e.d)
	}
	e.host.free(e.d)
	e.shared.free(e.d)
}
