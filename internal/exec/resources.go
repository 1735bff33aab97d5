package exec

import (
	"cmp"
	"errors"
	"sync/atomic"

	"farside/internal/descriptor"
	"farside/internal/pass"
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
	Excess  *atomic.Uint32  // the usages beyond Usage that Told has been told of
	Payload *memory.Payload // holds Bytes; with a reference for the replay
}

// Image is a VkImage as commands see it.
type Image struct {
	transfer.Image
	Usage   vk.ImageUsageFlags
	Excess  *atomic.Uint32  // as Buffer's
	Payload *memory.Payload // holds Image.Bytes; with a reference for the replay
	// Others hold the other planes of a disjoint image; with references, too.
	Others []*memory.Payload
	Pieced Pieced // nil for an image that lies in one piece
}

// View is a VkImageView or a VkBufferView as shaders see it.
type View struct {
	*sampling.View
	Payload *memory.Payload // holds the texels; with a reference for the replay
	// Others hold the other planes of a disjoint image; with references, too.
	Others []*memory.Payload
	Pieced Pieced // nil where the texels lie in one piece
}

// ErrForeign is why Resources has no object that exists.
var ErrForeign = errors.New("it belongs to another device")

// Resources finds what a stream names. Errors say what is wrong with the object: it does not exist, is another
// device's (ErrForeign), is not bound, or its memory is gone.
type Resources interface {
	Buffer(vk.Buffer) (Buffer, error)
	Image(vk.Image) (Image, error)
	ImageView(vk.ImageView) (View, error)
	BufferView(vk.BufferView) (View, error)
	Attachment(vk.ImageView) (AttachmentView, error)
	RenderPass(vk.RenderPass) (*pass.RenderPass, error)
	Framebuffer(vk.Framebuffer) (*Framebuffer, error)
	Sampler(vk.Sampler) (*sampling.Sampler, error)
	Event(vk.Event) (*syncobj.Payload, error)
	QueryPool(vk.QueryPool) (*QueryPool, error)
	Pipeline(vk.Pipeline) (*Pipeline, error)
	Shader(vk.ShaderEXT) (*Shader, error)
	DescriptorSet(vk.DescriptorSet) (*descriptor.Set, error)
	// Physical finds the memory behind a device address.
	Physical(address uint64) (Range, bool)
	// Secondary returns a secondary command buffer.
	Secondary(vk.CommandBuffer) (Secondary, error)
}

// cache remembers the resources of one replay, so that a command that names what an earlier one named costs
// no look-up. The payloads stay referenced until release: what has been looked up stays mapped.
type cache struct {
	buffers     table[vk.Buffer, Buffer]
	images      table[vk.Image, Image]
	imageViews  table[vk.ImageView, View]
	bufferViews table[vk.BufferView, View]
	held        []*memory.Payload
	pieces      pieces
}

func (c *cache) buffer(r Resources, h vk.Buffer) (*Buffer, error) {
	return remember(c, &c.buffers, h, r, Resources.Buffer, func(b *Buffer) *memory.Payload { return b.Payload })
}

func (c *cache) image(r Resources, h vk.Image) (*Image, error) {
	return remember(c, &c.images, h, r, Resources.Image, func(i *Image) *memory.Payload {
		c.pieces.use(i.Pieced)
		c.held = append(c.held, i.Others...)
		return i.Payload
	})
}

func (c *cache) imageView(r Resources, h vk.ImageView) (*View, error) {
	return remember(c, &c.imageViews, h, r, Resources.ImageView, func(v *View) *memory.Payload {
		c.pieces.use(v.Pieced)
		c.held = append(c.held, v.Others...)
		return v.Payload
	})
}

func (c *cache) bufferView(r Resources, h vk.BufferView) (*View, error) {
	return remember(c, &c.bufferViews, h, r, Resources.BufferView, func(v *View) *memory.Payload { return v.Payload })
}

// remember returns what is in a table of the cache, or what find finds.
func remember[H ~uint64, T any](c *cache, t *table[H, T], h H, r Resources, find func(Resources, H) (T, error),
	payload func(*T) *memory.Payload) (*T, error) {
	if v := t.get(h); v != nil {
		return v, nil
	}
	v, err := find(r, h)
	if err != nil {
		return nil, err
	}
	added := t.add(h, v)
	c.held = append(c.held, payload(added))
	return added, nil
}

// release ends the accesses and drops every reference. It fails as memory.Payload's EndAccess does.
func (c *cache) release() (err error) {
	if len(c.held) == 0 {
		return nil
	}
	for _, p := range c.held {
		err = cmp.Or(err, p.EndAccess())
		p.Release()
	}
	clear(c.held)
	c.held = c.held[:0]
	c.pieces.list = nil
	c.buffers.clear()
	c.images.clear()
	c.imageViews.clear()
	c.bufferViews.clear()
	return err
}

// The slots of a table that has not grown, and how many one may have that is kept: powers of two.
const (
	fewSlots  = 32
	mostSlots = 1024
)

// table finds values by handles. A map would allocate memory for each command buffer again.
type table[H ~uint64, T any] struct {
	slots []tableSlot[H, T]
	used  int
}

type tableSlot[H ~uint64, T any] struct {
	handle H // 0: free
	value  T
}

// place returns the slot of a handle, or the one where it would go.
func (t *table[H, T]) place(h H) *tableSlot[H, T] {
	for i := uint64(h); ; i++ {
		s := &t.slots[i%uint64(len(t.slots))]
		if s.handle == h || s.handle == 0 {
			return s
		}
	}
}

// get returns what was added for a handle, or nil. It stays valid until clear.
func (t *table[H, T]) get(h H) *T {
	if t.used == 0 || h == 0 {
		return nil
	}
	if s := t.place(h); s.handle == h {
		return &s.value
	}
	return nil
}

// add adds a handle that is not there and not 0.
func (t *table[H, T]) add(h H, v T) *T {
	if t.used >= len(t.slots)*3/4 {
		old := t.slots
		t.slots = make([]tableSlot[H, T], max(2*len(old), fewSlots))
		for i := range old {
			if old[i].handle != 0 {
				*t.place(old[i].handle) = old[i]
			}
		}
	}
	s := t.place(h)
	s.handle, s.value = h, v
	t.used++
	return &s.value
}

func (t *table[H, T]) clear() {
	switch {
	case t.used == 0:
	case len(t.slots) > mostSlots:
		*t = table[H, T]{}
	default:
		clear(t.slots)
		t.used = 0
	}
}
