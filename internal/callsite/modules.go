package callsite

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// mostDebug bounds the bytes of a section of a file that naming reads, and patience how long the names of one stack may
// take: what comes after that is told by its address.
const (
	mostDebug = 256 << 20
	patience  = 5 * time.Second
)

// module is a file whose code is mapped.
type module struct {
	path       string
	begin, end uintptr // of its mappings
	bias       uint64  // from addresses of the file to those in memory
	frames     *frames

	once    sync.Once // for what follows
	symbols []elf.Symbol
	debug   *dwarf.Data
}

var modules struct {
	mu   sync.Mutex
	list []*module // sorted by begin
	read time.Time // when the list was made
}

// find returns the module with code at pc, nil if there is none.
func find(pc uintptr) *module {
	modules.mu.Lock()
	defer modules.mu.Unlock()
	if m := lookup(pc); m != nil {
		return m
	}
	// The application may have loaded something since. A wild address does not have the list read again and again.
	if now := time.Now(); modules.list == nil || now.Sub(modules.read) > 100*time.Millisecond {
		load()
		modules.read = now
	}
	return lookup(pc)
}

// Module returns the addresses of the file with code at pc.
func Module(pc uintptr) (begin, end uintptr, ok bool) {
	m := find(pc)
	if m == nil {
		return 0, 0, false
	}
	return m.begin, m.end, true
}

func lookup(pc uintptr) *module {
	i := sort.Search(len(modules.list), func(i int) bool { return modules.list[i].end > pc })
	if i < len(modules.list) && modules.list[i].begin <= pc {
		return modules.list[i]
	}
	return nil
}

// load reads /proc/self/maps, and keeps what is known of modules.
func load() {
	text, err := fd.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	var list []*module
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[5], "/") {
			continue
		}
		from, to, _ := strings.Cut(f[0], "-")
		begin, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		path := strings.TrimSpace(line[strings.Index(line, f[5]):])
		if n := len(list); n > 0 && list[n-1].path == path {
			list[n-1].end = uintptr(end)
			continue
		}
		list = append(list, &module{path: path, begin: uintptr(begin), end: uintptr(end)})
	}
	for i, m := range list {
		known := slices.IndexFunc(modules.list, func(o *module) bool { return o.path == m.path && o.begin == m.begin })
		if known >= 0 {
			list[i] = modules.list[known]
		} else {
			m.open()
		}
	}
	modules.list = list
}

// at reads a file at offsets, for debug/elf.
type at struct{ f *fd.FD }

func (a at) ReadAt(b []byte, offset int64) (n int, err error) {
	for n < len(b) {
		m, err := unix.Pread(a.f.Int(), b[n:], offset+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, fmt.Errorf("the file ends at %d", offset+int64(n))
		}
		n += m
	}
	return n, nil
}

// with calls f with the module's file, if it is one of ELF.
func (m *module) with(f func(*elf.File)) {
	file, err := fd.Open(m.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer file.Close()
	defer func() { _ = recover() }() // debug/elf and debug/dwarf read what somebody else has written
	e, err := elf.NewFile(at{file})
	if err != nil {
		return
	}
	f(e)
}

// open reads what a walk needs.
func (m *module) open() {
	m.with(func(e *elf.File) {
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD {
				m.bias = uint64(m.begin) - (p.Vaddr - p.Off)
				break
			}
		}
		header, data := e.Section(".eh_frame_hdr"), e.Section(".eh_frame")
		if header == nil || data == nil || header.Size > mostDebug || data.Size > mostDebug {
			return
		}
		h, err1 := header.Data()
		d, err2 := data.Data()
		if err1 == nil && err2 == nil {
			m.frames = &frames{header: h, data: d, headerAt: header.Addr, dataAt: data.Addr}
		}
	})
}

// name reads what names addresses.
func (m *module) name() {
	m.with(func(e *elf.File) {
		symbols, err := e.Symbols()
		if err != nil || len(symbols) == 0 {
			symbols, _ = e.DynamicSymbols()
		}
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
				m.symbols = append(m.symbols, s)
			}
		}
		slices.SortFunc(m.symbols, func(a, b elf.Symbol) int {
			if a.Value != b.Value {
				if a.Value < b.Value {
					return -1
				}
				return 1
			}
			return strings.Compare(a.Name, b.Name)
		})
		for _, s := range e.Sections {
			if strings.HasPrefix(s.Name, ".debug_") && s.Size > mostDebug {
				return
			}
		}
		if e.Section(".debug_line") != nil {
			m.debug, _ = e.DWARF()
		}
	})
}
