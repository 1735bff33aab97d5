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
