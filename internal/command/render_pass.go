package command

import "farside/internal/vk"

// Records of commands that begin render passes, which are trees of structures.
const (
	// OpBeginRenderPass is vkCmdBeginRenderPass2.
	OpBeginRenderPass Op = 1<<16 + 16 + iota
	// OpBeginRendering is vkCmdBeginRendering.
	OpBeginRendering
)

// BeginRenderPass is a recorded vkCmdBeginRenderPass2; what it points to lies in the stream.
type BeginRenderPass struct {
	RenderPass  vk.RenderPass
	Framebuffer vk.Framebuffer
	Contents    vk.SubpassContents // of the first subpass
	Area        vk.Rect2D
	Clears      []vk.ClearValue
	Views       []vk.ImageView // of a framebuffer without images
	Areas       []vk.Rect2D    // by physical device; none: Area for all
}

// BeginRenderPass records the begin of a render pass. It fails with ErrMemory.
func (s *Stream) BeginRenderPass(c *BeginRenderPass) error {
	return s.add(OpBeginRenderPass, []uint64{uint64(c.RenderPass), uint64(c.Framebuffer), uint64(len(c.Clears)),
		uint64(len(c.Views)), uint64(len(c.Areas)), uint64(uint32(c.Contents))}, bytesAt(&c.Area), bytesOf(c.Clears),
		bytesOf(c.Views), bytesOf(c.Areas))
}

// BeginRenderPass reads a record of the begin of a render pass into c. It returns false when its length does not fit.
func (r *Record) BeginRenderPass(c *BeginRenderPass) bool {
	if r.Op != OpBeginRenderPass || len(r.words) < 6 {
		return false
	}
	c.RenderPass, c.Framebuffer = vk.RenderPass(r.words[0]), vk.Framebuffer(r.words[1])
	c.Contents = vk.SubpassContents(r.words[5])
	area, rest, ok := structure[vk.Rect2D](r.words[6:])
	if !ok {
		return false
	}
	c.Area = *area
	if c.Clears, rest, ok = array[vk.ClearValue](rest, r.words[2]); !ok {
		return false
	}
	if c.Views, rest, ok = array[vk.ImageView](rest, r.words[3]); !ok {
		return false
	}
	c.Areas, rest, ok = array[vk.Rect2D](rest, r.words[4])
	return ok && len(rest) == 0
}

// RenderingAttachment is an attachment of a dynamic rendering.
type RenderingAttachment struct {
	View    vk.ImageView // 0: none
	Resolve vk.ImageView
	Mode    vk.ResolveModeFlagBits
	Load    vk.AttachmentLoadOp
	Clear   vk.ClearValue
}

// BeginRendering is a recorded vkCmdBeginRendering; what it points to lies in the stream.
type BeginRendering struct {
	Flags    vk.RenderingFlags
	Area     vk.Rect2D
	Layers   uint32
	ViewMask uint32
	// Attachments are those of colours, then that of depths, then that of stencils.
	Attachments []RenderingAttachment
	Areas       []vk.Rect2D // by physical device; none: Area for all
}

// BeginRendering records the begin of a dynamic rendering. It fails with ErrMemory.
func (s *Stream) BeginRendering(c *BeginRendering) error {
	return s.add(OpBeginRendering, []uint64{uint64(c.Flags), uint64(c.Layers), uint64(c.ViewMask),
		uint64(len(c.Attachments)), uint64(len(c.Areas))}, bytesAt(&c.Area), bytesOf(c.Attachments), bytesOf(c.Areas))
}

// BeginRendering reads a record of the begin of a dynamic rendering into c. It returns false when its length does not
// fit.
func (r *Record) BeginRendering(c *BeginRendering) bool {
	if r.Op != OpBeginRendering || len(r.words) < 5 {
		return false
	}
	c.Flags, c.Layers, c.ViewMask = vk.RenderingFlags(r.words[0]), uint32(r.words[1]), uint32(r.words[2])
	area, rest, ok := structure[vk.Rect2D](r.words[5:])
	if !ok {
		return false
	}
	c.Area = *area
	if c.Attachments, rest, ok = array[RenderingAttachment](rest, r.words[3]); !ok || len(c.Attachments) < 2 {
		return false
	}
	c.Areas, rest, ok = array[vk.Rect2D](rest, r.words[4])
	return ok && len(rest) == 0
}
