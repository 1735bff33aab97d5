package texel

// astcEnds are the two colours of a partition. Channels with a bit in log have 12 bits in a logarithmic
// representation, the others 8.
type astcEnds struct {
	low, high [4]int
	log       uint8
}

const (
	astcLog    = 15    // all channels
	astcLogRGB = 7     // all but alpha
	astcLogOne = 0x780 // is 1
	astcLogMax = 0xfff
)

// read makes the ends from numbers of 8 bits, as the mode says (section "Endpoint Interpretation").
func (e *astcEnds) read(mode uint8, values []uint8) {
	var v [8]int
	for i := range int(mode>>2+1) * 2 {
		v[i] = int(values[i])
	}
	switch mode {
	case 0:
		e.gray(v[0], v[1], 255, 255)
	case 1:
		low := v[0]>>2 | v[1]&0xc0
		e.gray(low, min(low+v[1]&0x3f, 255), 255, 255)
	case 2:
		e.log = astcLog
		if v[1] >= v[0] {
			e.gray(v[0]<<4, v[1]<<4, astcLogOne, astcLogOne)
		} else {
			e.gray(v[1]<<4+8, v[0]<<4-8, astcLogOne, astcLogOne)
		}
	case 3:
		e.log = astcLog
		low, delta := v[1]&0xf0<<4|v[0]&0x7f<<1, v[1]&0x0f<<1
		if v[0]&0x80 != 0 {
			low, delta = v[1]&0xe0<<4|v[0]&0x7f<<2, v[1]&0x1f<<2
		}
		e.gray(low, min(low+delta, astcLogMax), astcLogOne, astcLogOne)
	case 4:
		e.gray(v[0], v[1], v[2], v[3])
	case 5:
		astcTransfer(&v[1], &v[0])
		astcTransfer(&v[3], &v[2])
		e.gray(v[0], v[0]+v[1], v[2], v[2]+v[3])
		e.clamp(255)
	case 6, 10:
		e.low = [4]int{v[0] * v[3] >> 8, v[1] * v[3] >> 8, v[2] * v[3] >> 8, 255}
		e.high = [4]int{v[0], v[1], v[2], 255}
		if mode == 10 {
			e.low[3], e.high[3] = v[4], v[5]
		}
	case 7:
		e.logScaled(&v)
	case 8, 12:
		e.direct(&v, mode == 12)
	case 9, 13:
		e.offset(&v, mode == 13)
	case 11:
		e.logDirect(&v)
		e.low[3], e.high[3] = astcLogOne, astcLogOne
	case 14:
		e.logDirect(&v)
		e.log, e.low[3], e.high[3] = astcLogRGB, v[6], v[7]
	case 15:
		e.logDirect(&v)
		e.logAlpha(v[6], v[7])
	}
}

func (e *astcEnds) gray(low, high, lowAlpha, highAlpha int) {
	e.low, e.high = [4]int{low, low, low, lowAlpha}, [4]int{high, high, high, highAlpha}
}

func (e *astcEnds) clamp(most int) {
	for c := range 4 {
		e.low[c], e.high[c] = min(max(e.low[c], 0), most), min(max(e.high[c], 0), most)
	}
}

// astcTransfer moves the highest bit of a to b, and makes a a number of six bits with a sign.
func astcTransfer(a, b *int) {
	*b = *b>>1 | *a&0x80
	*a = signExtended(*a>>1&0x3f, 6)
}

// astcContracted adds precision near gray.
func astcContracted(c [4]int) [4]int {
	return [4]int{(c[0] + c[2]) >> 1, (c[1] + c[2]) >> 1, c[2], c[3]}
}

func (e *astcEnds) direct(v *[8]int, alpha bool) {
	low, high := [4]int{v[0], v[2], v[4], 255}, [4]int{v[1], v[3], v[5], 255}
	if alpha {
		low[3], high[3] = v[6], v[7]
	}
	if v[1]+v[3]+v[5] < v[0]+v[2]+v[4] {
		low, high = astcContracted(high), astcContracted(low)
	}
	e.low, e.high = low, high
}

func (e *astcEnds) offset(v *[8]int, alpha bool) {
	for i := 0; i < 8; i += 2 {
		astcTransfer(&v[i+1], &v[i])
	}
	low, high := [4]int{v[0], v[2], v[4], 255}, [4]int{v[0] + v[1], v[2] + v[3], v[4] + v[5], 255}
	if alpha {
		low[3], high[3] = v[6], v[6]+v[7]
	}
	if v[1]+v[3]+v[5] < 0 {
		low, high = astcContracted(high), astcContracted(low)
	}
	e.low, e.high = low, high
	e.clamp(255)
}

// logScaled is mode 7: a colour and how far the other lies below. Bits of the numbers beyond five or six are put where
// the kind of the colour says; the columns of places are those kinds.
func (e *astcEnds) logScaled(v *[8]int) {
	kind := v[0]>>6 | v[1]>>7<<2 | v[2]>>7<<3
	major := 0
	switch {
	case kind&12 != 12:
		major, kind = kind>>2, kind&3
	case kind != 15:
		major, kind = kind&3, 4
	default:
		kind = 5
	}
	const red, green, blue, scale = 0, 1, 2, 3
	n := [4]int{v[0] & 0x3f, v[1] & 0x1f, v[2] & 0x1f, v[3] & 0x1f}
	extra := [7]int{v[1] >> 6 & 1, v[1] >> 5 & 1, v[2] >> 6 & 1, v[2] >> 5 & 1, v[3] >> 7 & 1, v[3] >> 6 & 1,
		v[3] >> 5 & 1}
	places := [6][7][2]uint8{
		{{red, 9}, {red, 8}, {red, 7}, {red, 10}, {red, 6}, {scale, 6}, {scale, 5}},
		{{red, 8}, {green, 5}, {red, 7}, {blue, 5}, {red, 6}, {red, 10}, {red, 9}},
		{{red, 9}, {red, 8}, {red, 7}, {red, 6}, {scale, 7}, {scale, 6}, {scale, 5}},
		{{red, 8}, {green, 5}, {red, 7}, {blue, 5}, {red, 6}, {scale, 6}, {scale, 5}},
		{{green, 6}, {green, 5}, {blue, 6}, {blue, 5}, {red, 6}, {red, 7}, {scale, 5}},
		{{green, 6}, {green, 5}, {blue, 6}, {blue, 5}, {red, 6}, {scale, 6}, {scale, 5}},
	}[kind]
	for i, p := range places {
		n[p[0]] |= extra[i] << p[1]
	}
	for i := range n {
		n[i] <<= [6]uint{1, 1, 2, 3, 4, 5}[kind]
	}
	if kind != 5 {
		n[green], n[blue] = n[red]-n[green], n[red]-n[blue]
	}
	n[red], n[major] = n[major], n[red]
	e.log = astcLog
	e.high = [4]int{n[red], n[green], n[blue], astcLogOne}
	e.low = [4]int{n[red] - n[scale], n[green] - n[scale], n[blue] - n[scale], astcLogOne}
	e.clamp(astcLogMax)
}

// logDirect is the colours of modes 11, 14 and 15, with the names of the specification: the ends are a, and what lies
// below it.
func (e *astcEnds) logDirect(v *[8]int) {
	e.log = astcLog
	major := v[4]>>7 | v[5]>>7<<1
	if major == 3 {
		e.low = [4]int{v[0] << 4, v[2] << 4, v[4] & 0x7f << 5}
		e.high = [4]int{v[1] << 4, v[3] << 4, v[5] & 0x7f << 5}
		return
	}
	kind := v[1]>>7 | v[2]>>7<<1 | v[3]>>7<<2
	const a, b0, b1, c, d0, d1 = 0, 1, 2, 3, 4, 5
	deltaBits := [8]uint{7, 6, 7, 6, 5, 6, 5, 6}[kind]
	n := [6]int{v[0] | v[1]&0x40<<2, v[2] & 0x3f, v[3] & 0x3f, v[1] & 0x3f, v[4] & 0x1f, v[5] & 0x1f}
	extra := [6]int{v[2] >> 6 & 1, v[3] >> 6 & 1, v[4] >> 6 & 1, v[5] >> 6 & 1, v[4] >> 5 & 1, v[5] >> 5 & 1}
	places := [8][6][2]uint8{
		{{b0, 6}, {b1, 6}, {d0, 6}, {d1, 6}, {d0, 5}, {d1, 5}},
		{{b0, 6}, {b1, 6}, {b0, 7}, {b1, 7}, {d0, 5}, {d1, 5}},
		{{a, 9}, {c, 6}, {d0, 6}, {d1, 6}, {d0, 5}, {d1, 5}},
		{{b0, 6}, {b1, 6}, {a, 9}, {c, 6}, {d0, 5}, {d1, 5}},
		{{b0, 6}, {b1, 6}, {b0, 7}, {b1, 7}, {a, 9}, {a, 10}},
		{{a, 9}, {a, 10}, {c, 7}, {c, 6}, {d0, 5}, {d1, 5}},
		{{b0, 6}, {b1, 6}, {a, 11}, {c, 6}, {a, 9}, {a, 10}},
		{{a, 9}, {a, 10}, {a, 11}, {c, 6}, {d0, 5}, {d1, 5}},
	}[kind]
	for i, p := range places {
		n[p[0]] |= extra[i] << p[1]
	}
	n[d0], n[d1] = signExtended(n[d0], deltaBits), signExtended(n[d1], deltaBits)
	for i := range n {
		n[i] <<= kind>>1 ^ 3
	}
	e.high = [4]int{n[a], n[a] - n[b0], n[a] - n[b1]}
	e.low = [4]int{n[a] - n[c], n[a] - n[b0] - n[c] - n[d0], n[a] - n[b1] - n[c] - n[d1]}
	e.clamp(astcLogMax)
	e.low[0], e.low[major] = e.low[major], e.low[0]
	e.high[0], e.high[major] = e.high[major], e.high[0]
}

// logAlpha is the alpha of mode 15.
func (e *astcEnds) logAlpha(low, high int) {
	kind := low>>7 | high>>7<<1
	low, high = low&0x7f, high&0x7f
	if kind == 3 {
		e.low[3], e.high[3] = low<<5, high<<5
		return
	}
	low |= high << (kind + 1) & 0x780
	high = signExtended(high&(0x3f>>kind), uint(6-kind))
	low <<= 4 - kind
	high <<= 4 - kind
	e.low[3], e.high[3] = low, min(max(low+high, 0), astcLogMax)
}
