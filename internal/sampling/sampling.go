// Package sampling is what shaders do to images: reads, writes and atomics of texels, filtered samples, gathers and
// queries, through views and samplers. It knows no handles.
//
// Operations work on a chunk of lanes at a time, of which only the active ones count. Their values lie as registers of
// the compute engine do, one component after the other. Nothing here fails: what lies outside of an image reads as the
// specification says and is not written (chapter "Texel Input Validation Operations", with robustImageAccess2).
package sampling

import "math"

// Width is the lanes of a chunk.
const Width = 8

// Lanes is one component for each lane: the bits of a 32-bit float or integer.
type Lanes [Width]uint32

// Texels is a texel for each lane: red, green, blue, alpha.
type Texels [4]Lanes

// Mask has a bit for each lane.
type Mask uint8

// All is the mask of all lanes.
const All Mask = 1<<Width - 1

func (m Mask) has(lane int) bool { return m>>(lane&(Width-1))&1 != 0 }

// outside is the offset of what is not there. Sums of a few of them and of offsets stay negative.
const outside = math.MinInt / 8

// offsets is where the texels of the lanes begin, in bytes; negative for lanes that are not active or outside.
type offsets [Width]int

func float(bits uint32) float32 { return math.Float32frombits(bits) }
func bits(v float32) uint32     { return math.Float32bits(v) }
