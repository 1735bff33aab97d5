// Package present is what swapchains are, without Vulkan's handles and without a window system: who has which image,
// which presentations wait for others, and who waits for an image.
//
// An image goes around:
//
//	free ─Acquire→ acquired ─Queue→ queued ─Frame.Ready→ free
//	                  └──────────Release────────────────→ free
//
// A [Frame] is a presentation that was asked for. It is ready when the queue has waited for its semaphores. There is no
// display with a refresh: a ready frame is shown at once, and its image is free. The modes differ all the same. In
// VK_PRESENT_MODE_FIFO_KHR and VK_PRESENT_MODE_FIFO_RELAXED_KHR a frame is shown behind all that were asked for before
// it; frames of different queues can become ready in another order. In the others each is shown when it is ready. A
// frame of these never waits, so none of them is replaced by a newer one.
//
// Images are acquired in the order in which they became free.
//
// All methods may be called from any goroutine. Chain.mu is taken alone: payloads are signalled under it, which takes
// only the locks of package syncobj.
package present

import (
	"errors"
	"math"
	"sync"
	"time"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

// How an acquisition can fail, beside the errors of syncobj.Wait.
var (
	ErrNotReady = errors.New("no image is free, and the call does not wait")
	ErrRetired  = errors.New("the swapchain is retired")
)

// ErrNotAcquired says that an image is not the application's to give back or to present.
var ErrNotAcquired = errors.New("the image is not acquired")

// State is who has an image.
type State uint8

// The states of images.
const (
	Free State = iota
	Acquired
	Queued
)

// String is the state as messages name it.
func (s State) String() string { return [...]string{"free", "acquired", "queued for presentation"}[s] }

// Chain is the images of a swapchain, by their indices.
type Chain struct {
	// changed is a timeline: how often something happened that who waits for an image must know of. shown is one, too: the
	// highest presentation ID that was shown.
	changed, shown *syncobj.Payload

	mu      sync.Mutex
	states  []State
	free    []int    // in the order in which they became so
	waiting []*Frame // those that were asked for in order, and are not shown; oldest first
	asked   uint64   // the number of the latest frame
	id      uint64   // the highest presentation ID that was asked for
	changes uint64   // what changed is at
	retired bool
}

// New makes a chain of so many free images.
func New(images int) *Chain {
	c := &Chain{changed: syncobj.New(syncobj.Timeline, 0), shown: syncobj.New(syncobj.Timeline, 0),
		states: make([]State, images), free: make([]int, images)}
	for i := range c.free {
		c.free[i] = i
	}
	return c
}

// Frame is a presentation that was asked for.
type Frame struct {
	chain  *Chain
	Image  int
	Number uint64 // of the chain's frames, from 1 on
	ID     uint64 // the application's number for it; 0: none
	// Shown is called when the frame is shown, before its image is free, by whoever makes a frame ready; nil: nobody asks.
	Shown func()
	ready bool
}

// change tells those who wait for an image to look again. mu is held.
func (c *Chain) change() {
	c.changes++
	_ = c.changed.Signal(c.changes) // a timeline that only grows
}

// Acquire takes an image for the application. It waits for one until timeout, in nanoseconds as for syncobj.Wait, has
// passed. It fails with
//
//   - ErrNotReady where no image is free and timeout is 0, syncobj.ErrTimeout after another timeout;
//   - ErrRetired where the chain is retired, also while it waits;
//   - syncobj.ErrStopped when stop is signalled.
func (c *Chain) Acquire(timeout uint64, stop *syncobj.Payload) (int, error) {
	begin := time.Now()
	for {
		image, seen, err := c.take()
		if image >= 0 || err != nil {
			return image, err
		}
		if stop.Value() != 0 {
			return -1, syncobj.ErrStopped
		}
		if timeout == 0 {
			return -1, ErrNotReady
		}
		left := timeout
		if timeout != math.MaxUint64 {
			left -= min(timeout, uint64(time.Since(begin)))
		}
		points := [1]syncobj.Point{{Payload: c.changed, Value: seen + 1}}
		if err := syncobj.Wait(points[:], true, left, stop); err != nil {
			return -1, err
		}
	}
}

// take acquires the image that has been free for the longest time. Without one it returns -1, and after how many
// changes that was so.
func (c *Chain) take() (image int, seen uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.retired:
		return -1, 0, ErrRetired
	case len(c.free) == 0:
		return -1, c.changes, nil
	}
	image = c.free[0]
	c.free = append(c.free[:0], c.free[1:]...)
	c.states[image] = Acquired
	return image, 0, nil
}

// Acquired is how many images the application has.
func (c *Chain) Acquired() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.states {
		if s == Acquired {
			n++
		}
	}
	return n
}

// State returns who has an image.
func (c *Chain) State(image int) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[image]
}

// Release gives acquired images back: all of them, or none and ErrNotAcquired.
func (c *Chain) Release(images ...int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, i := range images {
		if c.states[i] != Acquired {
			for _, back := range images[:n] {
				c.states[back] = Acquired
			}
			return ErrNotAcquired
		}
		c.states[i] = Free // so that an index that is there twice is found
	}
	c.free = append(c.free, images...)
	c.change()
	return nil
}

// LastID is the highest presentation ID that was asked for.
func (c *Chain) LastID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Queue asks for the presentation of an acquired image, in a mode; id is the application's number for it, 0 for none.
// Of the frame it returns, one of Ready and Drop is called, once. It fails with ErrNotAcquired.
func (c *Chain) Queue(image int, mode vk.PresentModeKHR, id uint64) (*Frame, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states[image] != Acquired {
		return nil, ErrNotAcquired
	}
	c.states[image] = Queued
	c.asked++
	c.id = max(c.id, id)
	f := &Frame{chain: c, Image: image, Number: c.asked, ID: id}
	if mode == vk.PRESENT_MODE_FIFO_KHR || mode == vk.PRESENT_MODE_FIFO_RELAXED_KHR {
		c.waiting = append(c.waiting, f)
	}
	return f, nil
}

// Ready tells that nothing is waited for any longer. The frame is shown when its turn comes.
func (f *Frame) Ready() {
	c := f.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	f.ready = true
	ordered := false
	for _, w := range c.waiting {
		ordered = ordered || w == f
	}
	if !ordered {
		c.show(f)
		return
	}
	c.advance()
}

// Drop takes a presentation back that will not happen, since the device is lost. The image is free.
func (f *Frame) Drop() {
	c := f.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range c.waiting {
		if w == f {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			break
		}
	}
	c.giveBack(f.Image)
	c.advance()
}

// advance shows the ordered frames whose turn has come. mu is held.
func (c *Chain) advance() {
	for len(c.waiting) > 0 && c.waiting[0].ready {
		f := c.waiting[0]
		c.waiting = append(c.waiting[:0], c.waiting[1:]...)
		c.show(f)
	}
}

// show shows a frame. mu is held.
func (c *Chain) show(f *Frame) {
	if f.Shown != nil {
		f.Shown()
	}
	if f.ID > c.shown.Value() {
		_ = c.shown.Signal(f.ID) // it only grows
	}
	c.giveBack(f.Image)
}

// giveBack makes an image free. mu is held.
func (c *Chain) giveBack(image int) {
	c.states[image] = Free
	c.free = append(c.free, image)
	c.change()
}

// WaitShown waits until a frame with this ID, or a higher one, is shown. It fails as syncobj.Wait does.
func (c *Chain) WaitShown(id, timeout uint64, stop *syncobj.Payload) error {
	if stop.Value() != 0 {
		return syncobj.ErrStopped
	}
	points := [1]syncobj.Point{{Payload: c.shown, Value: id}}
	return syncobj.Wait(points[:], true, timeout, stop)
}

// Retire ends acquisitions: those that wait fail with ErrRetired. What is acquired can still be presented. It says
// whether the chain was not retired before.
func (c *Chain) Retire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.retired = true
	c.change()
	return true
}

// Retired says whether the chain is retired.
func (c *Chain) Retired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired
}
