package main

import (
	"bytes"
	"fmt"
	"io"
)

// hexDump writes what is written to it as lines of 16 bytes, each with its address.
type hexDump struct {
	w       io.Writer
	address uint64 // of the line
	line    []byte
	text    bytes.Buffer
}

const perLine = 16

func (d *hexDump) Write(b []byte) (int, error) {
	for _, c := range b {
		if d.line = append(d.line, c); len(d.line) == perLine {
			d.endLine()
		}
	}
	_, err := d.text.WriteTo(d.w)
	return len(b), err
}

// flush writes the last line.
func (d *hexDump) flush() error {
	if len(d.line) > 0 {
		d.endLine()
	}
	_, err := d.text.WriteTo(d.w)
	return err
}

func (d *hexDump) endLine() {
	fmt.Fprintf(&d.text, "%016x ", d.address)
	for i := range perLine {
		if i == perLine/2 {
			d.text.WriteByte(' ')
		}
		if i < len(d.line) {
			fmt.Fprintf(&d.text, " %02x", d.line[i])
		} else {
			d.text.WriteString("   ")
		}
	}
	d.text.WriteString("  |")
	for _, c := range d.line {
		if c < ' ' || c > '~' {
			c = '.'
		}
		d.text.WriteByte(c)
	}
	d.text.WriteString("|\n")
	d.address += uint64(len(d.line))
	d.line = d.line[:0]
}
