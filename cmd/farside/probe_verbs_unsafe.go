package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/ibv"
)

// probeVerbs asks the libibverbs that a program finds.
func probeVerbs() (s shownVerbs, err error) {
	library, err := purego.Dlopen(verbsLibrary, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return s, err
	}
	var list func(number *int32) **byte
	purego.RegisterLibFunc(&list, library, "ibv_get_device_list")
	var n int32
	devices := list(&n)
	if devices == nil {
		return s, fmt.Errorf("%s: ibv_get_device_list fails", verbsLibrary)
	}
	for _, d := range unsafe.Slice(devices, n) {
		seen, err := probeDevice(library, d)
		if err != nil {
			return s, err
		}
		s.Devices = append(s.Devices, seen)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 && strings.HasSuffix(strings.TrimSpace(line), "/"+verbsLibrary) {
			s.Library = strings.TrimSpace(line[i:])
			break
		}
	}
	return s, err
}

// probeDevice opens a device and asks for its GIDs.
func probeDevice(library uintptr, device *byte) (d shownDevice, err error) {
	var name func(device *byte) string
	var guid func(device *byte) uint64
	var open func(device *byte) *byte
	var table func(context *byte, entries *ibv.GIDEntry, n uintptr, flags uint32, size uintptr) int
	purego.RegisterLibFunc(&name, library, "ibv_get_device_name")
	purego.RegisterLibFunc(&guid, library, "ibv_get_device_guid")
	purego.RegisterLibFunc(&open, library, "ibv_open_device")
	purego.RegisterLibFunc(&table, library, "_ibv_query_gid_table")
	d.Name = name(device)
	d.GUID = binary.BigEndian.Uint64(binary.NativeEndian.AppendUint64(nil, guid(device)))
	context := open(device)
	if context == nil {
		return d, fmt.Errorf("%s: ibv_open_device fails for %s", verbsLibrary, d.Name)
	}
	const most = 256 // entries of a table that devices of Farside have
	entries := make([]ibv.GIDEntry, most)
	n := table(context, &entries[0], most, 0, unsafe.Sizeof(entries[0]))
	if n < 0 {
		return d, fmt.Errorf("%s: ibv_query_gid_table fails for %s", verbsLibrary, d.Name)
	}
	for _, e := range entries[:n] {
		g := shownGID{Index: int(e.GIDIndex), GID: netip.AddrFrom16(e.GID)}
		if i, err := net.InterfaceByIndex(int(e.NDevIfIndex)); err == nil {
			g.Interface = i.Name
		}
		d.GIDs = append(d.GIDs, g)
	}
	return d, nil
}
