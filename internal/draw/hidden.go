package draw

// What lies under an opaque polygon that covers a whole tile need not be filled: nobody can see it.

// hides says whether polygons of this draw hide what comes before them: each sample that they cover gets a colour that
// depends on nothing that is there, nobody counts, and the shader does nothing else.
func (r *run) hides() bool {
	f := &r.shading
	if r.draw.Statistics != nil || !f.active || f.ends || f.modes.Effects || r.tests.some ||
		r.raster.sampleBits != 1<<r.raster.samples-1 {
		return false
	}
	for i := range r.colors {
		if c := &r.colors[i]; c.write && (!c.whole || c.reads || c.logic) {
			return false
		}
	}
	return true
}

// firstSeen is the first polygon of a tile's list that has to be filled for those of its layer, and the layer; 0 if all
// have to. Of the clears that wait for the tile, those of the colours in covered needn't be done.
func (b *bins) firstSeen(r *run, list []int32, tile *box) (first int, layer, covered uint32) {
	at := tile.cut(&b.all)
	for i := len(list) - 1; i >= 0; i-- {
		p := &b.prims[list[i]]
		if it := &b.items[list[i]]; !it.covers(&at, &b.viewports[it.viewport]) {
			continue
		}
		if c := r.waiting(); c != nil && tile.cut(&c.area) == at {
			covered = r.written()
		}
		return i, p.layer, covered
	}
	return 0, 0, 0
}

// written is the colour attachments that fragments are written to, a bit each.
func (r *run) written() (set uint32) {
	for i := range r.colors {
		if r.colors[i].write {
			set |= 1 << i
		}
	}
	return set
}

// covers says that all samples of a box of pixels are in a polygon.
func (it *binned) covers(at *box, v *viewport) bool {
	return it.box.cut(at) == *at && it.shape.covers(at, v, it.inViewport)
}

// covers says that all samples of a box of pixels are in the polygon.
func (s *polygonShape) covers(at *box, v *viewport, inViewport bool) bool {
	// Samples lie at 0 to 255 of a pixel's 256ths.
	left, right := int64(at.left)*subpixels, int64(at.right)*subpixels-1
	top, bottom := int64(at.top)*subpixels, int64(at.bottom)*subpixels-1
	if inViewport && (left < v.left || right >= v.right || top < v.top || bottom >= v.bottom) {
		return false
	}
	for i := range s.n {
		e := s.edgeOf(i, (i+1)%s.n)
		x, y := left, top
		if e.a < 0 {
			x = right
		}
		if e.b < 0 {
			y = bottom
		}
		if e.a*x+e.b*y+e.c < 0 {
			return false
		}
	}
	return true
}
