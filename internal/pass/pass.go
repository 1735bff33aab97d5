// Package pass has render passes, framebuffers and dynamic renderings in one form, and does what they do to
// attachments beside draws: loads, clears, resolves. It knows memory and views, but no queues.
//
// Attachments stay where their memory is. So what a load keeps, and what a store writes, needs no work: a pass clears
// at the first use of an attachment, and resolves at the end of each subpass. Layouts mean nothing here, nor do
// dependencies: commands are executed one after the other.
package pass

import (
	"math/bits"
	"slices"

	"farside/internal/texel"
	"farside/internal/vk"
)

// Unused stands for no attachment.
const Unused = vk.ATTACHMENT_UNUSED

// Attachment is what a pass knows of an attachment before there is an image.
type Attachment struct {
	Format  vk.Format
	Samples uint32
	Aspects vk.ImageAspectFlags // that the pass treats
	// Load is of colours and depths.
	Load, StencilLoad vk.AttachmentLoadOp
}

// Reference is an attachment that a subpass draws to, and what it is resolved to at the subpass' end.
type Reference struct {
	Attachment uint32 // or Unused
	Resolve    uint32 // or Unused
	Mode       vk.ResolveModeFlagBits
}

// None is a reference to nothing.
var None = Reference{Attachment: Unused, Resolve: Unused}

// Subpass says which attachments a subpass uses.
type Subpass struct {
	ViewMask       uint32
	Colors         []Reference
	Depth, Stencil Reference
	Inputs         []Input
	Waits          bool // a dependency orders it behind another subpass
}

// Input is an input attachment.
type Input struct {
	Attachment uint32 // or Unused
	Aspects    vk.ImageAspectFlags
}

// RenderPass is a VkRenderPass, or what a dynamic rendering would have for one. It doesn't change.
type RenderPass struct {
	Attachments []Attachment
	Subpasses   []Subpass
	// Dependencies order an instance behind what was before it, and what comes later behind the instance. Stages and
	// access masks are not looked at.
	Waits, Awaited bool
}

// Depend notes a dependency of one subpass on another one; vk.SUBPASS_EXTERNAL is what is outside of the instance.
func (p *RenderPass) Depend(dst, src uint32) {
	switch {
	case dst == vk.SUBPASS_EXTERNAL:
		p.Awaited = true
	case src == vk.SUBPASS_EXTERNAL:
		p.Waits = true
	case src < dst && dst < uint32(len(p.Subpasses)):
		p.Subpasses[dst].Waits = true
	}
}

// AspectsOf are the aspects of an attachment's format; 0 if it isn't known.
func AspectsOf(f vk.Format) vk.ImageAspectFlags {
	t, ok := texel.FormatOf(f)
	if !ok {
		return 0
	}
	return t.Aspects()
}

// used calls f for each attachment that the subpass uses. It may call it several times for one.
func (s *Subpass) used(f func(attachment uint32) error) error {
	list := func(of ...uint32) error {
		for _, a := range of {
			if a == Unused {
				continue
			}
			if err := f(a); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range s.Colors {
		if err := list(c.Attachment, c.Resolve); err != nil {
			return err
		}
	}
	for _, i := range s.Inputs {
		if err := list(i.Attachment); err != nil {
			return err
		}
	}
	return list(s.Depth.Attachment, s.Stencil.Attachment, s.Depth.Resolve, s.Stencil.Resolve)
}

// check says whether the attachments that the subpasses name exist. Whoever makes a pass checks the rules; nothing here
// reaches beyond the list, whatever comes in.
func (p *RenderPass) check() error {
	if len(p.Subpasses) == 0 {
		return invalid(vk.NoVUID, "the pass has no subpass")
	}
	for i := range p.Subpasses {
		err := p.Subpasses[i].used(func(a uint32) error {
			if a >= uint32(len(p.Attachments)) {
				return invalid(vk.NoVUID, "subpass %d uses attachment %d of %d", i, a, len(p.Attachments))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Samples is how many samples a subpass' attachments have; 0 if it has none.
func (p *RenderPass) Samples(subpass uint32) uint32 {
	s := &p.Subpasses[subpass]
	for _, r := range append(slices.Clone(s.Colors), s.Depth, s.Stencil) {
		if r.Attachment != Unused {
			return p.Attachments[r.Attachment].Samples
		}
	}
	return 0
}

// Compatible says whether pipelines and framebuffers that were made for one pass go with another (chapter "Render
// Passes", "Render Pass Compatibility").
func (p *RenderPass) Compatible(o *RenderPass) bool {
	if p == o {
		return true
	}
	if len(p.Subpasses) != len(o.Subpasses) {
		return false
	}
	for i := range p.Subpasses {
		if !p.compatibleSubpass(o, &p.Subpasses[i], &o.Subpasses[i]) {
			return false
		}
	}
	return true
}

func (p *RenderPass) compatibleSubpass(o *RenderPass, a, b *Subpass) bool {
	single := len(p.Subpasses) == 1 // then what is resolved to doesn't count
	same := func(x, y uint32) bool {
		if x == Unused || y == Unused {
			return x == y
		}
		m, n := &p.Attachments[x], &o.Attachments[y]
		return m.Format == n.Format && m.Samples == n.Samples
	}
	reference := func(x, y Reference) bool {
		return same(x.Attachment, y.Attachment) && (single || same(x.Resolve, y.Resolve) && x.Mode == y.Mode)
	}
	if a.ViewMask != b.ViewMask || !reference(a.Depth, b.Depth) || !reference(a.Stencil, b.Stencil) {
		return false
	}
	for i := range max(len(a.Colors), len(b.Colors)) { // beyond the end of a list is nothing
		if !reference(at(a.Colors, i, None), at(b.Colors, i, None)) {
			return false
		}
	}
	nothing := Input{Attachment: Unused}
	for i := range max(len(a.Inputs), len(b.Inputs)) {
		x, y := at(a.Inputs, i, nothing), at(b.Inputs, i, nothing)
		if !same(x.Attachment, y.Attachment) || x.Attachment != Unused && x.Aspects != y.Aspects {
			return false
		}
	}
	return true
}

// at is an element of a list, or what stands for those beyond its end.
func at[T any](list []T, i int, beyond T) T {
	if i < len(list) {
		return list[i]
	}
	return beyond
}

// views is how many views a mask may have the highest of; without multiview there are layers.
func views(mask uint32) uint32 { return uint32(bits.Len32(mask)) }

// invalid reports a broken rule of valid usage, found when the command is executed.
func invalid(rule vk.VUID, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_DEVICE_LOST, rule, format, args...)
}
