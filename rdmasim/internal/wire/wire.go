// Package wire encodes and decodes the messages of the fabric: packets between peers and owners of one host,
// and messages between peers and bridges of other hosts.
//
// A layout is written once, as a function that hands each field to a [Codec], in order. The codec either
// appends the fields to a message or takes them from one. Integers are little-endian. Nothing that another
// process sends makes a codec panic, or allocate more than the message's own size.
package wire

import (
	"errors"
	"unicode/utf8"
)

// ErrMalformed says that a message is too short or too long, has reserved bits set, or text that isn't UTF-8.
var ErrMalformed = errors.New("wire: malformed message")

// maxText is what the length byte of a text can say, in bytes.
const maxText = 255

// Codec appends fields to a message, or takes them from one.
type Codec struct {
	buf      []byte // encoding: the message so far; decoding: what is left of it
	decoding bool
	bad      bool
}

// Encode appends the fields of a layout to b.
func Encode(b []byte, layout func(*Codec)) []byte {
	c := Codec{buf: b}
	layout(&c)
	return c.buf
}

// Decode takes the fields of a layout from b, all of it. Its error is ErrMalformed; the fields then have any
// values.
func Decode(b []byte, layout func(*Codec)) error {
	c := Codec{buf: b, decoding: true}
	layout(&c)
	if c.bad || len(c.buf) != 0 {
		return ErrMalformed
	}
	return nil
}

// take returns the next n bytes of the message that is decoded, nil if there are fewer.
func (c *Codec) take(n int) []byte {
	if n > len(c.buf) {
		c.bad, c.buf = true, nil
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *Codec) uint(x uint64, size int) uint64 {
	if !c.decoding {
		for i := range size {
			c.buf = append(c.buf, byte(x>>(8*i)))
		}
		return x
	}
	x = 0
	for i, b := range c.take(size) {
		x |= uint64(b) << (8 * i)
	}
	return x
}

// Uint8 is a field of one byte.
func Uint8[T ~uint8](c *Codec, p *T) { *p = T(c.uint(uint64(*p), 1)) }

// Uint16 is a field of two bytes.
func Uint16[T ~uint16](c *Codec, p *T) { *p = T(c.uint(uint64(*p), 2)) }

// Uint32 is a field of four bytes.
func Uint32[T ~uint32](c *Codec, p *T) { *p = T(c.uint(uint64(*p), 4)) }

// Uint64 is a field of eight bytes.
func Uint64[T ~uint64](c *Codec, p *T) { *p = T(c.uint(uint64(*p), 8)) }

// Flag is a field of one byte, 0 or 1.
func (c *Codec) Flag(p *bool) {
	var x uint8
	if *p {
		x = 1
	}
	Uint8(c, &x)
	c.bad = c.bad || x > 1
	*p = x == 1
}

// Bytes is a field of len(p) bytes.
func (c *Codec) Bytes(p []byte) {
	if c.decoding {
		copy(p, c.take(len(p)))
	} else {
		c.buf = append(c.buf, p...)
	}
}

// Reserved is n bytes that are zero.
func (c *Codec) Reserved(n int) {
	if !c.decoding {
		c.buf = append(c.buf, make([]byte, n)...)
		return
	}
	for _, b := range c.take(n) {
		c.bad = c.bad || b != 0
	}
}

// Text is a byte with a length and as many bytes of UTF-8. A longer text is cut to 255 bytes.
func (c *Codec) Text(s *string) {
	n := uint8(min(len(*s), maxText))
	Uint8(c, &n)
	c.text(s, int(n))
}

// PaddedText is four bytes with a length, as many bytes of UTF-8, and zeros up to size. A longer text is cut
// to size.
func (c *Codec) PaddedText(s *string, size int) {
	n := uint32(min(len(*s), size))
	Uint32(c, &n)
	if n > uint32(size) {
		c.bad, n = true, 0
	}
	c.text(s, int(n))
	c.Reserved(size - int(n))
}

func (c *Codec) text(s *string, n int) {
	if !c.decoding {
		c.buf = append(c.buf, (*s)[:n]...)
		return
	}
	b := c.take(n)
	c.bad = c.bad || !utf8.Valid(b)
	*s = string(b)
}
