package draw

import (
	"farside/internal/cores"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// Clears are the clears of attachments that wait, all of one area: a tile is cleared when something is drawn there for
// the first time, by the core that draws. So its memory comes to that core once, and what an opaque polygon covers
// isn't cleared at all. Settle does the rest.
//
// Whoever looks at the attachments, but by draws of the pass, calls Settle before. The tiles are those of bins, or
// parts of these: no two workers have one.
type Clears struct {
	list          []transfer.Clearing
	colors        []int // which attachment's; -1: depth or stencil
	area          box
	shift         int
	columns, rows int
	done          []uint8 // by tile
	left          bool    // some tiles may be left
	begun         bool    // some are done
}

// leastTiles is how many tiles are worth it; tests change it.
var leastTiles = 4

// Begin has clears of an area wait, which lies within 2^30 pixels. There are none yet.
func (c *Clears) Begin(area vk.Rect2D) {
	clear(c.list)
	c.list, c.colors, c.left, c.begun = c.list[:0], c.colors[:0], false, false
	x, y := area.Offset.X, area.Offset.Y
	c.area = box{x, y, x + int32(area.Extent.Width), y + int32(area.Extent.Height)}
	c.columns, c.rows = 0, 0
	if c.area.empty() {
		return
	}
	c.shift = binShift
	c.columns = int((c.area.right-1)>>c.shift-c.area.left>>c.shift) + 1
	c.rows = int((c.area.bottom-1)>>c.shift-c.area.top>>c.shift) + 1
}

// Add has a clear of the area wait. It says whether that is worth it: otherwise nothing waits.
func (c *Clears) Add(of *transfer.Clearing, color int) bool {
	tiles := c.columns * c.rows
	if tiles < leastTiles || tiles > mostTiles {
		return false
	}
	if !c.left {
		if cap(c.done) < tiles {
			c.done = make([]uint8, tiles)
		}
		c.done = c.done[:tiles]
		clear(c.done)
		c.left = true
	}
	c.list, c.colors = append(c.list, *of), append(c.colors, color)
	return true
}

// Wait says whether something waits.
func (c *Clears) Wait() bool { return c.left }

// Settle clears what is left.
func (c *Clears) Settle() {
	if !c.left {
		return
	}
	c.left = false
	if !c.begun {
		for i := range c.list {
			c.list[i].All()
		}
		return
	}
	left := 0
	for _, done := range c.done {
		left += 1 - int(done)
	}
	parts := min(c.rows, 1+left/leastTiles)
	cores.Do(parts, func(part int) {
		for y := c.rows * part / parts; y < c.rows*(part+1)/parts; y++ {
			c.row(y)
		}
	})
}

// row clears what is left of a row of tiles.
func (c *Clears) row(y int) {
	done := c.done[y*c.columns:][:c.columns]
	for x := 0; x < c.columns; x++ {
		first := x
		for x < c.columns && done[x] == 0 {
			x++
		}
		if first < x {
			at := c.tile(first, y)
			at.right = c.tile(x-1, y).right
			for i := range c.list {
				c.part(&c.list[i], &at)
			}
		}
	}
}

// tile is the pixels of a tile that are in the area.
func (c *Clears) tile(x, y int) box {
	left, top := (c.area.left>>c.shift+int32(x))<<c.shift, (c.area.top>>c.shift+int32(y))<<c.shift
	at := box{left, top, left + 1<<c.shift, top + 1<<c.shift}
	return at.cut(&c.area)
}

func (c *Clears) part(of *transfer.Clearing, at *box) {
	of.Part(int(at.left-c.area.left), int(at.top-c.area.top), int(at.right-at.left), int(at.bottom-at.top))
}

// meet clears the tiles that pixels lie in, if they have not been cleared. They are to be drawn to. Attachments that
// are covered there get all of their texels by that, and need no clear.
func (c *Clears) meet(pixels *box, covered uint32) {
	at := pixels.cut(&c.area)
	if at.empty() {
		return
	}
	left, top := c.area.left>>c.shift, c.area.top>>c.shift
	for y := int(at.top>>c.shift - top); y <= int((at.bottom-1)>>c.shift-top); y++ {
		for x := int(at.left>>c.shift - left); x <= int((at.right-1)>>c.shift-left); x++ {
			done := &c.done[y*c.columns+x]
			if *done != 0 {
				continue
			}
			*done = 1
			tile := c.tile(x, y)
			for i := range c.list {
				if k := c.colors[i]; k < 0 || covered>>k&1 == 0 {
					c.part(&c.list[i], &tile)
				}
			}
		}
	}
}

// waiting is the clears that wait for this draw; nil: none.
func (r *run) waiting() *Clears {
	if !r.pass.Waits() {
		return nil
	}
	return r.pass.Clears
}
