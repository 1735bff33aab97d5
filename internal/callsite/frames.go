package callsite

import (
	"bytes"
	"encoding/binary"
	"runtime"
)

// The registers of amd64 that a walk follows, by their numbers in DWARF (System V ABI, figure 3.36).
const (
	regBX = 3
	regBP = 6
	regSP = 7
	regRA = 16
	regs  = 17
)

// rule says where a caller's register is: at an offset from the frame's address, or where it was.
type rule struct {
	saved  bool
	offset int64
}

// row is what the frame instructions say of an address: the frame's address is reg plus offset.
type row struct {
	reg    uint64
	offset int64
	rules  [regs]rule
}

// unwind follows the module's .eh_frame.
func (m *module) unwind(r Registers) (Registers, bool) {
	if runtime.GOARCH != "amd64" || m.frames == nil {
		return r, false
	}
	// The call is the instruction before the return address.
	at, ok := m.frames.row(uint64(r.PC-1) - m.bias)
	if !ok {
		return r, false
	}
	values := map[uint64]uintptr{regBX: r.BX, regBP: r.BP, regSP: r.SP}
	base, known := values[at.reg]
	if !known || !at.rules[regRA].saved {
		return r, false
	}
	cfa := base + uintptr(at.offset)
	load := func(reg int, otherwise uintptr) uintptr {
		if at.rules[reg].saved {
			return word(cfa + uintptr(at.rules[reg].offset))
		}
		return otherwise
	}
	return Registers{PC: load(regRA, 0), SP: cfa, BP: load(regBP, r.BP), BX: load(regBX, r.BX)}, true
}

// frames is the sections .eh_frame_hdr and .eh_frame of a file (Linux Standard Base, "Exception Frames").
type frames struct {
	header, data     []byte
	headerAt, dataAt uint64 // their addresses in the file
}

// row returns the row for an address of the file.
func (f *frames) row(pc uint64) (row, bool) {
	d, ok := f.entry(pc)
	if !ok {
		return row{}, false
	}
	length, d := uint64(binary.LittleEndian.Uint32(d)), d[4:]
	if length < 8 || length >= 0xfffffff0 || uint64(len(d)) < length {
		return row{}, false
	}
	body := d[:length]
	cieAt := uint64(len(f.data)-len(d)) - uint64(binary.LittleEndian.Uint32(body))
	c, ok := f.common(cieAt)
	if !ok {
		return row{}, false
	}
	e := reader{data: body[4:], at: f.dataAt + uint64(len(f.data)-len(d)) + 4}
	begin := e.encoded(c.encoding)
	size := e.encoded(c.encoding & 0x0f)
	if c.augmented {
		e.skip(e.unsigned())
	}
	if e.bad || pc < begin || pc-begin >= size {
		return row{}, false
	}
	var now row
	if !run(c.instructions, c, &now, nil, ^uint64(0), 0) {
		return row{}, false
	}
	first := now
	return now, run(e.data, c, &now, &first, pc, begin)
}

// entry finds the description of an address by the table of .eh_frame_hdr: pairs of an address and of the place of its
// description, sorted, each relative to the section.
func (f *frames) entry(pc uint64) ([]byte, bool) {
	const sorted = 0x3b // DW_EH_PE_datarel | DW_EH_PE_sdata4
	h := reader{data: f.header, at: f.headerAt}
	if len(f.header) < 12 || f.header[0] != 1 || f.header[3] != sorted {
		return nil, false
	}
	h.skip(4)
	h.encoded(f.header[1])
	count := h.encoded(f.header[2])
	if h.bad || count > uint64(len(h.data)/8) {
		return nil, false
	}
	at := func(i uint64) uint64 {
		return f.headerAt + uint64(int64(int32(binary.LittleEndian.Uint32(h.data[i*8:]))))
	}
	low, high := uint64(0), count
	for low < high {
		if mid := (low + high) / 2; at(mid) <= pc {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return nil, false
	}
	place := f.headerAt + uint64(int64(int32(binary.LittleEndian.Uint32(h.data[(low-1)*8+4:])))) - f.dataAt
	if place >= uint64(len(f.data)) || uint64(len(f.data))-place < 8 {
		return nil, false
	}
	return f.data[place:], true
}

// common is what the descriptions of many functions have in common.
type common struct {
	codeAlign    uint64
	dataAlign    int64
	encoding     byte
	augmented    bool
	instructions []byte
}

func (f *frames) common(at uint64) (*common, bool) {
	if at >= uint64(len(f.data)) || uint64(len(f.data))-at < 8 {
		return nil, false
	}
	length := uint64(binary.LittleEndian.Uint32(f.data[at:]))
	body := f.data[at+4:]
	if length < 8 || uint64(len(body)) < length {
		return nil, false
	}
	e := reader{data: body[4:length]}
	c := &common{}
	version := e.byte()
	end := bytes.IndexByte(e.data, 0)
	if version != 1 || end < 0 {
		return nil, false
	}
	augmentation := string(e.data[:end])
	e.skip(uint64(end) + 1)
	c.codeAlign, c.dataAlign = e.unsigned(), e.signed()
	if e.byte() != regRA {
		return nil, false
	}
	for _, a := range augmentation {
		switch a {
		case 'z':
			c.augmented = true
			size := e.unsigned()
			if uint64(len(e.data)) < size {
				return nil, false
			}
			c.instructions = e.data[size:]
			e.data = e.data[:size]
		case 'R':
			c.encoding = e.byte()
		case 'L':
			e.byte()
		case 'P':
			e.encoded(e.byte())
		default: // 'S', a signal's frame, among them
			return nil, false
		}
	}
	return c, c.augmented && !e.bad
}

// remembered is how many states are remembered at once; compilers make one.
const remembered = 16

// run carries out frame instructions until the one for an address behind pc. first is what the common ones have made.
func run(program []byte, c *common, now, first *row, pc, at uint64) bool {
	e := reader{data: program}
	var stack []row
	set := func(reg uint64, r rule) {
		if reg < regs {
			now.rules[reg] = r
		}
	}
	for len(e.data) > 0 && !e.bad {
		op := e.byte()
		low := uint64(op & 0x3f)
		advance := uint64(0)
		switch op & 0xc0 {
		case 0x40: // DW_CFA_advance_loc
			advance = low
		case 0x80: // DW_CFA_offset
			set(low, rule{true, int64(e.unsigned()) * c.dataAlign})
			continue
		case 0xc0: // DW_CFA_restore
			if first != nil && low < regs {
				now.rules[low] = first.rules[low]
			}
			continue
		}
		switch {
		case op&0xc0 == 0x40:
		case op == 0x00: // DW_CFA_nop
		case op == 0x02: // DW_CFA_advance_loc1
			advance = uint64(e.byte())
		case op == 0x03: // DW_CFA_advance_loc2
			advance = e.fixed(2)
		case op == 0x04: // DW_CFA_advance_loc4
			advance = e.fixed(4)
		case op == 0x05: // DW_CFA_offset_extended
			reg := e.unsigned()
			set(reg, rule{true, int64(e.unsigned()) * c.dataAlign})
		case op == 0x06: // DW_CFA_restore_extended
			if reg := e.unsigned(); first != nil && reg < regs {
				now.rules[reg] = first.rules[reg]
			}
		case op == 0x07 || op == 0x08: // DW_CFA_undefined, DW_CFA_same_value
			set(e.unsigned(), rule{})
		case op == 0x0a && len(stack) < remembered: // DW_CFA_remember_state
			stack = append(stack, *now)
		case op == 0x0b && len(stack) > 0: // DW_CFA_restore_state
			*now, stack = stack[len(stack)-1], stack[:len(stack)-1]
		case op == 0x0c: // DW_CFA_def_cfa
			now.reg = e.unsigned()
			now.offset = int64(e.unsigned())
		case op == 0x0d: // DW_CFA_def_cfa_register
			now.reg = e.unsigned()
		case op == 0x0e: // DW_CFA_def_cfa_offset
			now.offset = int64(e.unsigned())
		case op == 0x0f: // DW_CFA_def_cfa_expression: a walk does not compute
			e.skip(e.unsigned())
			now.reg = regs
		case op == 0x10 || op == 0x16: // DW_CFA_expression, DW_CFA_val_expression
			set(e.unsigned(), rule{})
			e.skip(e.unsigned())
		case op == 0x2e: // DW_CFA_GNU_args_size
			e.unsigned()
		default:
			return false
		}
		if at += advance * c.codeAlign; at > pc {
			return true
		}
	}
	return !e.bad
}

// reader reads numbers from a section; bad is set once it is at its end.
type reader struct {
	data []byte
	at   uint64 // the address of data, for relative addresses
	bad  bool
}

func (e *reader) skip(n uint64) {
	if n > uint64(len(e.data)) {
		e.bad, e.data = true, nil
		return
	}
	e.data, e.at = e.data[n:], e.at+n
}

func (e *reader) byte() byte { return byte(e.fixed(1)) }

func (e *reader) fixed(n int) (v uint64) {
	if n > len(e.data) {
		e.bad = true
		return 0
	}
	for i := range n {
		v |= uint64(e.data[i]) << (8 * i)
	}
	e.skip(uint64(n))
	return v
}

func (e *reader) unsigned() (v uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := e.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	e.bad = true
	return v
}

func (e *reader) signed() (v int64) {
	for shift := 0; shift < 64; shift += 7 {
		b := e.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	e.bad = true
	return v
}

// encoded reads an address as DW_EH_PE_ says: absolute or relative to its own place.
func (e *reader) encoded(encoding byte) uint64 {
	place := e.at
	var v uint64
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c: // absptr, udata8, sdata8
		v = e.fixed(8)
	case 0x02:
		v = e.fixed(2)
	case 0x03:
		v = e.fixed(4)
	case 0x0a:
		v = uint64(int64(int16(e.fixed(2))))
	case 0x0b:
		v = uint64(int64(int32(e.fixed(4))))
	default:
		e.bad = true
	}
	if encoding&0x70 == 0x10 { // pcrel
		v += place
	}
	return v
}
