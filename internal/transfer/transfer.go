// Package transfer does what the transfer commands ask for, on memory that is mapped: fills, copies, blits, resolves
// and clears. It knows no handles and no queues.
//
// Regions come from an untrusted stream. Each function checks all its regions against the slices and the image
// layouts before it writes the first byte, and no region can make it touch a byte outside of them. What it
// refuses is an error with the VUID that the region breaks.
package transfer

import (
	"farside/internal/cores"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Image is an image and the memory that it is bound to.
type Image struct {
	Bytes  []byte // begin where the image begins; may be longer than it
	Layout *texel.Layout
	Format vk.Format
	Type   vk.ImageType
	// Planes are the planes of a multi-planar image, as images of their own.
	Planes []Image
}

// NewImage makes an image that is bound to memory: bytes are all of it, or those in which the offsets of each plane of
// a multi-planar image count.
func NewImage(bytes *[texel.MaxPlanes][]byte, layout *texel.Layout, format vk.Format, of vk.ImageType) Image {
	img := Image{Bytes: bytes[0], Layout: layout, Format: format, Type: of}
	if layout.Format.MultiPlanar() {
		for i, p := range layout.Format.Planes[:layout.Format.PlaneCount] {
			own := layout.Plane(i)
			img.Planes = append(img.Planes, Image{Bytes: bytes[i], Layout: &own, Format: p.Format, Type: of})
		}
	}
	return img
}

// of returns what a region goes to that names aspects of the image: of a multi-planar one the plane, as an image whose
// colours are meant. Aspects that are no plane leave both as they are, which check refuses.
func (img *Image) of(sub *vk.ImageSubresourceLayers) (*Image, vk.ImageSubresourceLayers) {
	own := *sub
	if len(img.Planes) > 0 {
		if i := img.Layout.Format.PlaneOf(own.AspectMask); i >= 0 && i < len(img.Planes) {
			own.AspectMask = vk.IMAGE_ASPECT_COLOR_BIT
			return &img.Planes[i], own
		}
	}
	return img, own
}

// An operation of parallelBytes and more runs on several cores, each of which gets at least partBytes: less isn't
// worth the microseconds that it takes to wake another core.
const (
	partBytes     = 512 << 10
	parallelBytes = 2 * partBytes
)

// partsOfCore is into how many parts the work of a core is divided: one that wakes late leaves some to the others.
const partsOfCore = 8

// split runs body on parts of [0, n), of at least least each, on as many cores as that allows, and returns when
// they are done.
func split(n, least int, body func(from, to int)) {
	workers := max(min(cores.Count, n/least), 1)
	parts := max(min(partsOfCore*workers, n/least), 1)
	if workers == 1 {
		parts = 1
	}
	cores.Do(parts, func(i int) { body(n*i/parts, n*(i+1)/parts) })
}
