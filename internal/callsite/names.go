package callsite

import (
	"debug/dwarf"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Names says what the return addresses of a walk are: function, file and line as far as they are known, then the place
// in the program's file. A call in a function that the compiler has put into another one has a line for each. Frames of
// the Vulkan loader are left out, and so are those before main.
func Names(pcs []uintptr) []string {
	var names []string
	begin := time.Now()
	for _, pc := range pcs {
		m := find(pc)
		switch {
		case m == nil:
			names = append(names, fmt.Sprintf("%#x", pc))
			continue
		case strings.HasPrefix(filepath.Base(m.path), "libvulkan.so"):
			continue
		}
		address := uint64(pc-1) - m.bias // of the call
		place := fmt.Sprintf("%s+%#x", filepath.Base(m.path), address)
		if time.Since(begin) > patience {
			names = append(names, place)
			continue
		}
		m.once.Do(m.name)
		function, lines := m.function(address), m.lines(address)
		switch {
		case function == "":
			names = append(names, place)
		case len(lines) == 0:
			names = append(names, fmt.Sprintf("%s (%s)", function, place))
		}
		for i, l := range lines {
			if l.function == "" {
				l.function = function
			}
			inlined := ", inlined"
			if i == len(lines)-1 {
				inlined = ""
			}
			names = append(names, fmt.Sprintf("%s %s:%d (%s%s)", l.function, filepath.Base(l.file), l.number, place, inlined))
		}
		if function == "main" {
			break
		}
	}
	return names
}

// function returns the name of the function at an address of the file, "" if it is not known.
func (m *module) function(address uint64) string {
	i := sort.Search(len(m.symbols), func(i int) bool { return m.symbols[i].Value > address }) - 1
	if i < 0 || m.symbols[i].Size > 0 && address-m.symbols[i].Value >= m.symbols[i].Size {
		return ""
	}
	return m.symbols[i].Name
}

// line is a line of source; function is empty for the one of the symbol.
type line struct {
	function, file string
	number         int
}

// lines returns the lines at an address of the file, innermost first; nil if they are not known.
func (m *module) lines(address uint64) (list []line) {
	if m.debug == nil {
		return nil
	}
	defer func() { _ = recover() }() // debug/dwarf reads what somebody else has written
	r := m.debug.Reader()
	unit, err := r.SeekPC(address)
	if err != nil {
		return nil
	}
	table, err := m.debug.LineReader(unit)
	if err != nil || table == nil {
		return nil
	}
	// LineReader.SeekPC takes a unit for one range of addresses, and main is often in another than the rest.
	var before, entry dwarf.LineEntry
	for before.EndSequence = true; table.Next(&entry) == nil; before = entry {
		if !before.EndSequence && before.Address <= address && address < entry.Address && before.File != nil {
			list = []line{{file: before.File.Name, number: before.Line}}
			break
		}
	}
	if list == nil {
		return nil
	}
	files := table.Files()
	for _, e := range m.inlined(r, address) {
		file, _ := e.Val(dwarf.AttrCallFile).(int64)
		number, _ := e.Val(dwarf.AttrCallLine).(int64)
		caller := line{number: int(number)}
		if file >= 0 && int(file) < len(files) && files[file] != nil {
			caller.file = files[file].Name
		}
		list[len(list)-1].function = m.originOf(e)
		list = append(list, caller)
	}
	return list
}

// inlined returns the calls that the compiler has replaced by the function, around an address of the unit that r is in,
// innermost first.
func (m *module) inlined(r *dwarf.Reader, address uint64) (calls []*dwarf.Entry) {
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == dwarf.TagCompileUnit {
			return calls
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
		default:
			if e.Children && e.Tag != dwarf.TagNamespace {
				r.SkipChildren()
			}
			continue
		}
		ranges, err := m.debug.Ranges(e)
		within := false
		for _, g := range ranges {
			within = within || g[0] <= address && address < g[1]
		}
		switch {
		case err != nil || !within:
			r.SkipChildren()
		case e.Tag == dwarf.TagInlinedSubroutine:
			calls = append([]*dwarf.Entry{e}, calls...)
		}
	}
}

// originOf returns the name of the function that a call was replaced by.
func (m *module) originOf(e *dwarf.Entry) string {
	for range 4 {
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			return name
		}
		offset, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if offset, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				break
			}
		}
		r := m.debug.Reader()
		r.Seek(offset)
		next, err := r.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	return "?"
}
