package compute

// image does an instruction on an image.
func (w *worker) image(*ImageOp) {}
