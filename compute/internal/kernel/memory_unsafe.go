package kernel

import "unsafe"

// word is what memory is accessed by, and lane what a register holds of it.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

type lane interface{ uint32 | uint64 }

func fillMemory(t *Table) {
	t[LoadU8] = load[uint8, uint32]
	t[LoadU16] = load[uint16, uint32]
	t[Load32] = load[uint32, uint32]
	t[Load64] = load[uint64, uint64]
	t[Store8] = store[uint8, uint32]
	t[Store16] = store[uint16, uint32]
	t[Store32] = store[uint32, uint32]
	t[Store64] = store[uint64, uint64]
	t[LoadPhysicalU8] = loadPhysical[uint8, uint32]
	t[LoadPhysicalU16] = loadPhysical[uint16, uint32]
	t[LoadPhysical32] = loadPhysical[uint32, uint32]
	t[LoadPhysical64] = loadPhysical[uint64, uint64]
	t[StorePhysical8] = storePhysical[uint8, uint32]
	t[StorePhysical16] = storePhysical[uint16, uint32]
	t[StorePhysical32] = storePhysical[uint32, uint32]
	t[StorePhysical64] = storePhysical[uint64, uint64]
	t[LoadPrivate32] = loadPrivate[uint32]
	t[LoadPrivate64] = loadPrivate[uint64]
	t[StorePrivate32] = storePrivate[uint32]
	t[StorePrivate64] = storePrivate[uint64]
}

// reach returns the address that offsets are from, and the largest offset at which there is a word of a size. If there
// is none ok is false.
func (args *Args) reach(size uintptr) (base unsafe.Pointer, limit uint64, ok bool) {
	m := args.Memory
	if m.Size < uint64(size) || args.Immediate > m.Size-uint64(size) {
		return nil, 0, false
	}
	return unsafe.Add(m.Base, args.Immediate), m.Size - uint64(size) - args.Immediate, true
}

// Overlaps says whether two memories have bytes in common.
func (m Memory) Overlaps(o Memory) bool {
	a, b := uintptr(m.Base), uintptr(o.Base)
	return m.Size > 0 && o.Size > 0 && (a-b < uintptr(o.Size) || b-a < uintptr(m.Size))
}

// at is the word at an offset.
func at[T any](base unsafe.Pointer, offset uint64) *T { return (*T)(unsafe.Add(base, offset)) }

// masked returns the lanes of a chunk that take part.
func (args *Args) masked(chunk int) *[Width]uint32 {
	if args.Mask.Base == nil {
		return &allSet
	}
	return lanes[uint32](args.Mask, chunk)
}

var allSet = [Width]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0),
	^uint32(0)}

// consecutive says whether the offsets follow each other at the distance of a size, and do not begin anew at 0.
func consecutive(offsets *[Width]uint32, size uint32) bool {
	first := offsets[0]
	return first <= ^uint32(0)-(Width-1)*size &&
		offsets[1] == first+size && offsets[2] == first+2*size && offsets[3] == first+3*size &&
		offsets[4] == first+4*size && offsets[5] == first+5*size && offsets[6] == first+6*size && offsets[7] == first+7*size
}

// allSame says whether all offsets are the same.
func allSame(offsets *[Width]uint32) bool {
	first := offsets[0]
	var other uint32
	for _, offset := range offsets[1:] {
		other |= offset ^ first
	}
	return other == 0
}

func load[M word, L lane](args *Args, first, n int) {
	size := unsafe.Sizeof(M(0))
	base, limit, ok := args.reach(size)
	for i := first; i < first+n; i++ {
		dst, offsets := lanes[L](args.Dst, i), lanes[uint32](args.A, i)
		switch {
		case args.Mask.Base != nil || !ok:
			for lane, set := range args.masked(i) {
				if set != 0 {
					dst[lane] = 0
					if ok && uint64(offsets[lane]) <= limit {
						dst[lane] = L(*at[M](base, uint64(offsets[lane])))
					}
				}
			}
		case allSame(offsets):
			var value L
			if uint64(offsets[0]) <= limit {
				value = L(*at[M](base, uint64(offsets[0])))
			}
			*dst = [Width]L{value, value, value, value, value, value, value, value}
		case size == unsafe.Sizeof(L(0)) && consecutive(offsets, uint32(size)) && uint64(offsets[7]) <= limit:
			*dst = *at[[Width]L](base, uint64(offsets[0]))
		default:
			for lane, offset := range offsets {
				dst[lane] = 0
				if uint64(offset) <= limit {
					dst[lane] = L(*at[M](base, uint64(offset)))
				}
			}
		}
	}
}

func store[M word, L lane](args *Args, first, n int) {
	size := unsafe.Sizeof(M(0))
	base, limit, ok := args.reach(size)
	if !ok {
		return
	}
	for i := first; i < first+n; i++ {
		src, offsets := lanes[L](args.B, i), lanes[uint32](args.A, i)
		if args.Mask.Base == nil && size == unsafe.Sizeof(L(0)) && consecutive(offsets, uint32(size)) &&
			uint64(offsets[7]) <= limit {
			*at[[Width]L](base, uint64(offsets[0])) = *src
			continue
		}
		for lane, set := range args.masked(i) {
			if set != 0 && uint64(offsets[lane]) <= limit {
				*at[M](base, uint64(offsets[lane])) = M(src[lane])
			}
		}
	}
}

func loadPhysical[M word, L lane](args *Args, first, n int) {
	size := uint64(unsafe.Sizeof(M(0)))
	m := args.Memory
	for i := first; i < first+n; i++ {
		dst, addresses := lanes[L](args.Dst, i), lanes[uint64](args.A, i)
		for lane, set := range args.masked(i) {
			if set == 0 {
				continue
			}
			dst[lane] = 0
			if offset := addresses[lane] + args.Immediate; m.Size >= size && offset <= m.Size-size {
				dst[lane] = L(*at[M](m.Base, offset))
			}
		}
	}
}

func storePhysical[M word, L lane](args *Args, first, n int) {
	size := uint64(unsafe.Sizeof(M(0)))
	m := args.Memory
	if m.Size < size {
		return
	}
	for i := first; i < first+n; i++ {
		src, addresses := lanes[L](args.B, i), lanes[uint64](args.A, i)
		for lane, set := range args.masked(i) {
			if offset := addresses[lane] + args.Immediate; set != 0 && offset <= m.Size-size {
				*at[M](m.Base, offset) = M(src[lane])
			}
		}
	}
}

// privateSizes returns the distance of two registers of an array, and that of two chunks of one.
func privateSizes[L lane](args *Args) (register, chunk uint64) {
	register, chunk = args.Memory.Size/max(args.Immediate, 1), Width*uint64(unsafe.Sizeof(L(0)))
	if register == chunk {
		return register, 0
	}
	return register, chunk
}

func loadPrivate[L lane](args *Args, first, n int) {
	register, chunk := privateSizes[L](args)
	for i := first; i < first+n; i++ {
		dst, indices := lanes[L](args.Dst, i), lanes[uint32](args.A, i)
		for lane, set := range args.masked(i) {
			if set == 0 {
				continue
			}
			dst[lane] = 0
			if index := uint64(indices[lane]); index < args.Immediate {
				dst[lane] = at[[Width]L](args.Memory.Base, index*register+uint64(i)*chunk)[lane]
			}
		}
	}
}

func storePrivate[L lane](args *Args, first, n int) {
	register, chunk := privateSizes[L](args)
	for i := first; i < first+n; i++ {
		src, indices := lanes[L](args.B, i), lanes[uint32](args.A, i)
		for lane, set := range args.masked(i) {
			if index := uint64(indices[lane]); set != 0 && index < args.Immediate {
				at[[Width]L](args.Memory.Base, index*register+uint64(i)*chunk)[lane] = src[lane]
			}
		}
	}
}
