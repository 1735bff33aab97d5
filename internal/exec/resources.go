package exec

import (
	"farside/internal/command"
	"farside/internal/sampling"
	"farside/internal/syncobj"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/memory"
)

// Buffer is a VkBuffer as commands see it.
type Buffer struct {
	Bytes   []byte // all of the buffer
	Usage   vk.BufferUsageFlags
	Payload *memory.Payload // holds Bytes; with a reference for the replay
}

// Image is a VkImage as commands see it.
type Image struct {
	transfer.Image
	Usage   vk.ImageUsageFlags
	Payload *memory.Payload // holds Image.Bytes; with a reference for the replay
}

// View is a VkImageView or a VkBufferView as shaders see it.
type View struct {
	*sampling.View
	Payload *memory.Payload // holds the texels; with a reference for the replay
}

// Resources finds what a stream names. Errors say what is wrong with the object: it does not exist, is not
// bound, or its memory is gone.
type Resources interface {
	Buffer(vk.Buffer) (Buffer, error)
	Image(vk.Image) (Image, error)
	ImageView(vk.ImageView) (View, error)
	BufferView(vk.BufferView) (View, error)
	Sampler(vk.Sampler) (*sampling.Sampler, error)
	Event(vk.Event) (*syncobj.Payload, error)
	QueryPool(vk.QueryPool) (*QueryPool, error)
	// Secondary returns the stream of a secondary command buffer.
	Secondary(vk.CommandBuffer) (*command.Stream, error)
}

// cacheSize is how many buffers and how many images a replay remembers at a time; a power of two.
const cacheSize = 32

// cache remembers the resources of one replay, so that a command that names what an earlier one named costs
// no look-up. The payloads stay referenced until release: what has been looked up stays mapped.
type cache struct {
	buffers [cacheSize]struct {
		handle vk.Buffer
		Buffer
	}
	images [cacheSize]struct {
		handle vk.Image
		Image
	}
	held []*memory.Payload
}

func (c *cache) buffer(r Resources, h vk.Buffer) (*Buffer, error) {
	e := &c.buffers[h%cacheSize]
	if e.handle != h || h == 0 {
		b, err := r.Buffer(h)
		if err != nil {
			return nil, err
		}
		c.held = append(c.held, b.Payload)
		e.handle, e.Buffer = h, b
	}
	return &e.Buffer, nil
}

func (c *cache) image(r Resources, h vk.Image) (*Image, error) {
	e := &c.images[h%cacheSize]
	if e.handle != h || h == 0 {
		img, err := r.Image(h)
		if err != nil {
			return nil, err
		}
		c.held = append(c.held, img.Payload)
		e.handle, e.Image = h, img
	}
	return &e.Image, nil
}

// release drops every reference.
func (c *cache) release() {
	if len(c.held) == 0 {
		return
	}
	for _, p := range c.held {
		p.Release()
	}
	clear(c.held)
	c.held = c.held[:0]
	clear(c.buffers[:])
	clear(c.images[:])
}
