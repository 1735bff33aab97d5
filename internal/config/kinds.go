package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/google/uuid"
)

// kind is a type of values: what is allowed, in words, and how it is read.
type kind[T any] struct {
	allowed string
	parse   func(string) (T, error)
}

// errNotAllowed is the error of the parsers here. The row's Type says what would be allowed.
var errNotAllowed = errors.New("not allowed")

// oneOf is one of some words, in upper or lower case.
func oneOf[T any](allowed string, values map[string]T) kind[T] {
	return kind[T]{allowed, func(s string) (T, error) {
		v, ok := values[strings.ToLower(s)]
		if !ok {
			return v, errNotAllowed
		}
		return v, nil
	}}
}

var levels = oneOf("one of `off`, `error`, `warn`, `info`, `trace`", map[string]slog.Level{
	"off": LevelOff, "error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "trace": LevelTrace,
})

// "avx2" is the word of versions that had vector kernels for amd64 alone.
var kernels = oneOf("one of `go`, `vector`, `narrow`", map[string]Kernels{"go": KernelsGo, "vector": KernelsVector,
	"avx2": KernelsVector, "narrow": KernelsNarrow})

var onOff = oneOf("one of `on`, `off`", map[string]bool{"on": true, "1": true, "off": false, "0": false})

var draws = oneOf("one of `binned`, `ordered`", map[string]bool{"binned": false, "ordered": true})

var duration = kind[time.Duration]{"a duration such as `90s` or `5m`, or `0` for none",
	func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err == nil && d < 0 {
			err = errNotAllowed
		}
		return d, err
	}}

// The bounds of a heap, bytes: below, a device is of no use; above is no address of a process on the architectures
// that Farside runs on.
const (
	smallestHeap = 1 << 20
	largestHeap  = 1 << 47
)

var heapSize = kind[uint64]{"a size from 1MiB to 128TiB such as `512MiB` or `4GiB`", func(s string) (uint64, error) {
	n, err := ParseSize(s)
	if err == nil && (n < smallestHeap || n > largestHeap) {
		err = errNotAllowed
	}
	return n, err
}}

// ParseSize reads a number of bytes: a decimal number, then nothing or a unit. Units are powers of 1024 whether they
// are written k, kB or KiB, in upper or lower case. It fails for everything else and for sizes beyond 63 bits.
func ParseSize(s string) (uint64, error) {
	n, err := units.RAMInBytes(s)
	// Its numbers are those of Go, 0x4p20 and 1_0 among them.
	if err != nil || n < 0 || strings.ContainsAny(s, "xX_") {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return uint64(n), nil
}

var uuids = kind[*[16]byte]{"a UUID of 32 hexadecimal digits", func(s string) (*[16]byte, error) {
	// Parse takes off the first and last character of 38, whatever they are, and a "urn:uuid:".
	if len(s) > len(uuid.UUID{}.String()) {
		return nil, errNotAllowed
	}
	u, err := uuid.Parse(s)
	return (*[16]byte)(&u), err
}}

// "ofi" and "ofi:tcp" are from when libfabric carried the data, and mean the same as "tls".
var fabrics = kind[*Fabric]{"`tls[,bind=ADDRESS[:PORT]]` with an IP address", func(s string) (*Fabric, error) {
	kind, bind, bound := strings.Cut(s, ",")
	address, isBind := strings.CutPrefix(bind, "bind=")
	known := kind == "tls" || kind == "ofi" || kind == "ofi:tcp"
	if !known || bound && (!isBind || address == "") {
		return nil, errNotAllowed
	}
	f := &Fabric{Listen: address}
	if address == "" {
		return f, nil
	}
	// A name is not allowed: the driver looks nothing up.
	if ip, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil {
		f.Listen = netip.AddrPortFrom(ip, 0).String()
		return f, nil
	}
	_, err := netip.ParseAddrPort(address)
	return f, err
}}

// list is elements separated by commas, of which there is at least one.
func list[T any](allowed string, parse func(string) (T, error)) kind[[]T] {
	return kind[[]T]{allowed, func(s string) ([]T, error) {
		var all []T
		for part := range strings.SplitSeq(s, ",") {
			v, err := parse(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}}
}

var rights = list("a list of `read`, `write`, `atomic`, `ro` (read) and `rw` (read and write), separated by commas",
	func(s string) (string, error) {
		switch s {
		case "read", "write", "atomic", "ro", "rw":
			return s, nil
		}
		return "", errNotAllowed
	})

var users = list("a list of user ids, decimal, separated by commas", func(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err
})

// words is a text that its owner reads, which has more to say about mistakes in it.
var words = kind[string]{"a text", func(s string) (string, error) { return s, nil }}

// The names and formats of profiles are package profile's.
var profiles = kind[string]{"the name of a profile (`farside profile list`), or the path of a file",
	func(s string) (string, error) { return s, nil }}

var path = kind[string]{"the path of a file", func(s string) (string, error) { return s, nil }}

var stricts = kind[Strict]{
	"`all`, or a list of `noncoherent`, `poison`, `guard`, `leaks`, `async`, `rdma`, separated by commas",
	func(s string) (all Strict, err error) {
		for word := range strings.SplitSeq(strings.ToLower(s), ",") {
			word = strings.TrimSpace(word)
			one, ok := StrictWords[word]
			if word == "all" {
				one, ok = StrictAll, true
			}
			if !ok {
				return 0, errNotAllowed
			}
			all |= one
		}
		return all, nil
	}}

var seeds = kind[uint64]{"a decimal number from 1 to 2^64-1", func(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err == nil && n == 0 {
		err = errNotAllowed
	}
	return n, err
}}

var exitStatus = kind[uint8]{"an exit status from 1 to 255", func(s string) (uint8, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err == nil && n == 0 {
		err = errNotAllowed
	}
	return uint8(n), err
}}

// MostVerbsDevices is how many devices verbs can show.
const MostVerbsDevices = 16

var devices = kind[uint64]{"a number from 1 to 16", func(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err == nil && (n < 1 || n > MostVerbsDevices) {
		err = errNotAllowed
	}
	return n, err
}}
