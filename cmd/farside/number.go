package main

import (
	"fmt"
	"strconv"

	"github.com/docker/go-units"

	"farside/internal/config"
)

// parseAddress reads a remote address, hexadecimal or decimal.
func parseAddress(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an address", s)
	}
	return n, nil
}

// parseSize reads a number of bytes: hexadecimal or decimal, or as config.ParseSize does.
func parseSize(s string) (uint64, error) {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return n, nil
	}
	return config.ParseSize(s)
}

// parseWord reads a number of width bits; a negative one is its two's complement.
func parseWord(s string, width int) (uint64, error) {
	if n, err := strconv.ParseUint(s, 0, width); err == nil {
		return n, nil
	}
	n, err := strconv.ParseInt(s, 0, width)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of %d bits", s, width)
	}
	return uint64(n) & (1<<(width-1)<<1 - 1), nil
}

var sizeUnits = []string{"", "KiB", "MiB", "GiB", "TiB"}

// formatSize writes a number of bytes in the largest unit that divides it, as parseSize reads it.
func formatSize(n uint64) string {
	i := 0
	for n != 0 && n%1024 == 0 && i < len(sizeUnits)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatUint(n, 10) + sizeUnits[i]
}

// roughly writes a number of bytes in the unit in which it is short, with four digits at most.
func roughly(n uint64) string { return units.BytesSize(float64(n)) }
