package emit

import (
	"fmt"
	"slices"
	"strings"

	"farside/cmd/icdgen/internal/registry"
)

// ordering are the commands that record nothing because a queue keeps its commands in order: their stubs only
// see that the command buffer is being recorded.
var ordering = []string{"vkCmdPipelineBarrier", "vkCmdPipelineBarrier2"}

// inlineBytes is how much of an array a recording stub copies; the entry in Go copies more in less time.
const inlineBytes = 4096

// prefetchBytes is how far ahead of itself a stub fetches the stream's memory into the caches. Recording is as
// fast as memory takes the records, and what an earlier recording left in the caches is gone by the next.
const prefetchBytes = 3072

// recording is a stub that appends a command to the command buffer's stream.
type recording struct {
	*recordedCommand
	number   int  // the op's value
	graphics bool // see forGraphics
}

// forGraphics says whether a command may be recorded only where the command buffer's slot says that its queue family
// has graphics. There, queries that begin and end are those of draws.
func forGraphics(c *registry.Command) bool {
	return slices.Equal(c.Queues, []string{"VK_QUEUE_GRAPHICS_BIT"}) || c.Name == "vkCmdBeginQuery" ||
		c.Name == "vkCmdEndQuery"
}

// graphicsWord is where a slot says whether commands of graphics are taken.
const graphicsWord = 24

// recordable says whether a command's arguments can be appended word by word: one array at most, or two of which the
// first has elements of whole words, no barriers that are left out, and no array of dispatchable handles, since command
// buffers that a command buffer executes must know of each other.
func (c *recordedCommand) recordable(reg *registry.Registry, command *registry.Command) bool {
	arrays := 0
	for i, a := range c.args {
		switch a.kind {
		case leftOut:
			return false
		case arrayArgument:
			if arrays++; arrays == 2 && (c.arrays()[0].typ.size%8 != 0 || a.typ.size%4 != 0) {
				return false
			}
			if h, ok := reg.Type(reg.Resolve(command.Params[i+1].Type)).(*registry.Handle); ok && h.Dispatchable {
				return false
			}
		}
	}
	return arrays <= 2
}

// arrays are the array arguments.
func (c *recordedCommand) arrays() (list []*argument) {
	for i := range c.args {
		if c.args[i].kind == arrayArgument {
			list = append(list, &c.args[i])
		}
	}
	return list
}

// recordings are the stubs of those supported commands that need not enter Go, by the command's name.
func recordings(reg *registry.Registry, entries []*entryPoint, ops []string) (map[string]*recording, error) {
	list, err := recordedCommands(reg, ops)
	if err != nil {
		return nil, err
	}
	commands := map[string]*registry.Command{}
	for _, e := range entries {
		commands[e.Name] = e.Command
	}
	stubs := map[string]*recording{}
	for i, c := range list {
		if command := commands[c.name]; command != nil && c.recordable(reg, command) {
			stubs[c.name] = &recording{c, i + 1, forGraphics(command)}
		}
	}
	for _, name := range ordering {
		if commands[name] != nil {
			stubs[name] = &recording{recordedCommand: &recordedCommand{op: strings.TrimPrefix(name, "vkCmd"), name: name}}
		}
	}
	return stubs, nil
}

// stubWriter prints the stubs of one architecture.
type stubWriter interface {
	// table prints the place of command number n in the table of stubs, which goes on at label.
	place(p *printer, n int, label string)
	// record prints the stub that appends a command.
	record(p *printer, r *recording)
}

var architectures = []struct {
	name   string
	writer stubWriter
}{
	{"amd64", amd64{}},
	{"arm64", arm64{}},
}

// stubs prints the stub table of one architecture and the recording stubs that it leads to. Stub 0 is not used:
// loading 0 has another length.
func stubs(arch string, w stubWriter, entries []*entryPoint, recordings map[string]*recording) File {
	p := new(printer)
	p.f("%s#include \"go_asm.h\"\n#include \"textflag.h\"\n\n", header)
	p.f("TEXT farside_stubs(SB), NOSPLIT|NOFRAME, $0\n")
	w.place(p, 1, "farside_entry")
	for i, e := range entries {
		if r := recordings[e.Name]; r != nil {
			w.place(p, i+1, r.label())
		} else {
			w.place(p, i+1, "farside_entry")
		}
	}
	for _, e := range entries {
		if r := recordings[e.Name]; r != nil {
			p.f("\nTEXT %s(SB), NOSPLIT|NOFRAME, $0\n", r.label())
			w.record(p, r)
		}
	}
	return File{Path: "internal/cabi/zz_generated_stubs_" + arch + ".s", Data: p.Bytes()}
}

func (r *recording) label() string { return "record" + r.op + "<>" }

// size is the number of bytes of the record without its array.
func (r *recording) size() int {
	n := r.words() * 8
	for _, a := range r.args {
		if a.kind == structArgument {
			n += int(roundUp(a.typ.size, 8))
		}
	}
	return n
}

// counted is an array argument and the one that counts it. The second array of a command may be empty.
type counted struct {
	*argument
	count *argument
	empty bool
	n     string // "" for the first array, "2" for the second: ends its labels
}

func (r *recording) counted() (list []counted) {
	for i, a := range r.arrays() {
		list = append(list, counted{a, &r.args[a.count], i > 0, [...]string{"", "2"}[i]})
	}
	return list
}

// line prints one instruction.
func line(p *printer, format string, args ...any) { p.f("\t"+format+"\n", args...) }

// amd64 writes stubs for the System V calling convention. AX holds the command's number until nothing can go
// wrong any more; R10 and R11 are free.
type amd64 struct{}

func (amd64) place(p *printer, n int, label string) {
	p.f("\tPCALIGN $16\n\tMOVL $%d, AX\n\tJMP  %s(SB)\n", n, label)
}

var amd64Registers = [...]string{"DI", "SI", "DX", "CX", "R8", "R9"}

// of is where an argument is: in a register, or in memory.
func (amd64) of(a *argument) string {
	if a.place < len(amd64Registers) {
		return amd64Registers[a.place]
	}
	return fmt.Sprintf("%d(SP)", (a.place-len(amd64Registers)+1)*8)
}

// pointer loads a pointer argument into scratch unless it is in a register, and returns the register.
func (w amd64) pointer(p *printer, a *argument, scratch string) string {
	if a.place < len(amd64Registers) {
		return w.of(a)
	}
	line(p, "MOVQ %s, %s", w.of(a), scratch)
	return scratch
}

func (a *argument) move() string {
	if a.typ.size == 4 {
		return "MOVL"
	}
	return "MOVQ"
}

// record writes a stub that appends a command to its command buffer's stream. The stub goes to farside_entry, and so to
// Go, where anything is unusual.
func (w amd64) record(p *printer, r *recording) {
	line(p, "MOVQ ·commandBuffers(SB), R10")
	line(p, "MOVQ DI, R11")
	line(p, "SUBQ slab_Base(R10), R11")
	line(p, "CMPQ R11, slab_Size(R10)")
	line(p, "JCC  slow")
	line(p, "TESTQ $63, R11")
	line(p, "JNE  slow")
	if r.number == 0 {
		line(p, "CMPQ 8(DI), $0")
		line(p, "JEQ  slow")
	} else {
		if r.graphics {
			line(p, "CMPQ %d(DI), $0", graphicsWord)
			line(p, "JEQ  slow")
		}
		w.guard(p, r)
		if arrays := r.counted(); len(arrays) == 0 {
			w.reserve(p, r)
		} else {
			w.reserveArrays(p, r, arrays)
		}
		line(p, "PREFETCHT0 %d(R10)", prefetchBytes)
		w.copyArrays(p, r, w.words(p, r))
	}
	line(p, "RET")
	p.f("slow:\n")
	line(p, "JMP  farside_entry(SB)")
}

// guard checks the arguments that are pointers. An address below 4096, or one that no user program can have, is left
// to Go.
func (w amd64) guard(p *printer, r *recording) {
	arrays := r.counted()
	for i := range r.args {
		a := &r.args[i]
		if a.kind != arrayArgument && a.kind != structArgument {
			continue
		}
		empty := len(arrays) == 2 && arrays[1].argument == a
		if empty {
			line(p, "%s %s, R11", arrays[1].count.move(), w.of(arrays[1].count))
			line(p, "TESTQ R11, R11")
			line(p, "JEQ  empty")
		}
		line(p, "LEAQ -4096(%s), R11", w.pointer(p, a, "R11"))
		line(p, "SHRQ $47, R11")
		line(p, "JNE  slow")
		if empty {
			p.f("empty:\n")
		}
	}
}

// reserve takes room in the stream for a record of fixed size and writes its head. R10 is the record then.
func (w amd64) reserve(p *printer, r *recording) {
	line(p, "MOVQ 8(DI), R10")
	line(p, "LEAQ %d(R10), R11", r.size())
	line(p, "CMPQ R11, 16(DI)")
	line(p, "JHI  slow")
	line(p, "MOVQ R11, 8(DI)")
	line(p, "MOVQ $%#x, AX", r.number|r.size()/8<<32)
	line(p, "MOVQ AX, (R10)")
}

// reserveArrays is reserve for a record with arrays, whose counts it checks.
func (w amd64) reserveArrays(p *printer, r *recording, arrays []counted) {
	array := arrays[0]
	line(p, "%s %s, R11", array.count.move(), w.of(array.count))
	line(p, "LEAQ -1(R11), R10")
	line(p, "CMPQ R10, $%d", inlineBytes/array.typ.size)
	line(p, "JCC  slow")
	if array.typ.size == 1 {
		line(p, "TESTQ $3, R11")
		line(p, "JNE  slow")
	} else {
		line(p, "IMUL3Q $%d, R11, R11", array.typ.size)
	}
	for _, second := range arrays[1:] {
		line(p, "%s %s, R10", second.count.move(), w.of(second.count))
		line(p, "CMPQ R10, $%d", inlineBytes/second.typ.size)
		line(p, "JHI  slow")
		line(p, "IMUL3Q $%d, R10, R10", second.typ.size)
		line(p, "ADDQ R10, R11")
	}
	line(p, "ADDQ $%d, R11", r.size()+7)
	line(p, "ANDQ $~7, R11")
	line(p, "MOVQ 8(DI), R10")
	line(p, "ADDQ R10, R11")
	line(p, "CMPQ R11, 16(DI)")
	line(p, "JHI  slow")
	line(p, "MOVQ R11, 8(DI)")
	line(p, "SUBQ R10, R11")
	line(p, "SHLQ $29, R11")
	line(p, "ORQ  $%d, R11", r.number)
	line(p, "MOVQ R11, (R10)")
}

// words writes what has a fixed size into the record: the words and then the structures. It returns where they end.
func (w amd64) words(p *printer, r *recording) (at int) {
	at = 8
	for i := range r.args {
		a := &r.args[i]
		switch {
		case a.kind != wordArgument && a.kind != countArgument:
			continue
		case a.typ.size == 8 && a.place < len(amd64Registers):
			line(p, "MOVQ %s, %d(R10)", w.of(a), at)
		default:
			line(p, "%s %s, AX", a.move(), w.of(a))
			line(p, "MOVQ AX, %d(R10)", at)
		}
		at += 8
	}
	for i := range r.args {
		if a := &r.args[i]; a.kind == structArgument {
			from := w.pointer(p, a, "R11")
			for n := 0; n < int(a.typ.size); n += 8 {
				load := "MOVQ"
				if int(a.typ.size)-n == 4 {
					load = "MOVL"
				}
				line(p, "%s %d(%s), AX", load, n, from)
				line(p, "MOVQ AX, %d(R10)", at)
				at += 8
			}
		}
	}
	return at
}

// copyArrays copies the arrays into the record, from its byte at on. DI counts the bytes that are left.
func (w amd64) copyArrays(p *printer, r *recording, at int) {
	for i, array := range r.counted() {
		from := w.pointer(p, array.argument, "R11")
		line(p, "%s %s, DI", array.count.move(), w.of(array.count))
		if array.typ.size != 1 {
			line(p, "IMUL3Q $%d, DI, DI", array.typ.size)
		}
		if i == 0 {
			line(p, "ADDQ $%d, R10", at)
		}
		p.f("copy%s:\n", array.n)
		line(p, "SUBQ $8, DI")
		line(p, "JLT  tail%s", array.n)
		line(p, "MOVQ (%s), AX", from)
		line(p, "MOVQ AX, (R10)")
		line(p, "ADDQ $8, %s", from)
		line(p, "ADDQ $8, R10")
		line(p, "JMP  copy%s", array.n)
		p.f("tail%s:\n", array.n)
		if array.typ.size%8 != 0 {
			line(p, "CMPQ DI, $-4")
			line(p, "JNE  done")
			line(p, "MOVL (%s), AX", from)
			line(p, "MOVQ AX, (R10)")
			p.f("done:\n")
		}
	}
}

// arm64 writes stubs for AAPCS64. R9 holds the command's number until nothing can go wrong any more; R10 to R15
// are free. Constants are kept small enough to need no help of R27, which belongs to the caller.
type arm64 struct{}

func (arm64) place(p *printer, n int, label string) {
	p.f("\tPCALIGN $16\n\tMOVD $%d, R9\n\tB    %s(SB)\n", n, label)
}

func (a *argument) load() string {
	if a.typ.size == 4 {
		return "MOVWU"
	}
	return "MOVD"
}

// record is as amd64's.
func (w arm64) record(p *printer, r *recording) {
	line(p, "MOVD $·commandBuffers(SB), R10")
	line(p, "MOVD (R10), R10")
	line(p, "MOVD slab_Base(R10), R11")
	line(p, "MOVD slab_Size(R10), R12")
	line(p, "SUB  R11, R0, R11")
	line(p, "CMP  R12, R11")
	line(p, "BHS  slow")
	line(p, "TST  $63, R11")
	line(p, "BNE  slow")
	line(p, "MOVD 8(R0), R10")
	if r.number == 0 {
		line(p, "CBZ  R10, slow")
	} else {
		if r.graphics {
			line(p, "MOVD %d(R0), R11", graphicsWord)
			line(p, "CBZ  R11, slow")
		}
		w.guard(p, r)
		w.reserve(p, r)
		line(p, "PRFM %d(R10), PSTL1KEEP", prefetchBytes)
		w.copyArrays(p, r, w.words(p, r))
	}
	line(p, "RET")
	p.f("slow:\n")
	line(p, "B    farside_entry(SB)")
}

// guard checks the arguments that are pointers. An address below 4096, or one that no user program can have, is left
// to Go.
func (arm64) guard(p *printer, r *recording) {
	arrays := r.counted()
	for i := range r.args {
		a := &r.args[i]
		if a.kind != arrayArgument && a.kind != structArgument {
			continue
		}
		empty := len(arrays) == 2 && arrays[1].argument == a
		if empty {
			line(p, "%s R%d, R11", arrays[1].count.load(), arrays[1].count.place)
			line(p, "CBZ  R11, empty")
		}
		line(p, "SUB  $4096, R%d, R11", a.place)
		line(p, "LSR  $48, R11, R11")
		line(p, "CBNZ R11, slow")
		if empty {
			p.f("empty:\n")
		}
	}
}

// reserve checks the counts of arrays, takes room for the record in the stream and writes its head. R10 is the record,
// R13 and R15 are the bytes of the first and the second array.
func (arm64) reserve(p *printer, r *recording) {
	if arrays := r.counted(); len(arrays) == 0 {
		line(p, "MOVD $%d, R12", r.size())
	} else {
		array := arrays[0]
		line(p, "%s R%d, R13", array.count.load(), array.count.place)
		line(p, "SUB  $1, R13, R11")
		line(p, "CMP  $%d, R11", inlineBytes/array.typ.size-1)
		line(p, "BHI  slow")
		if array.typ.size == 1 {
			line(p, "TST  $3, R13")
			line(p, "BNE  slow")
		} else {
			line(p, "MOVD $%d, R11", array.typ.size)
			line(p, "MUL  R11, R13, R13")
		}
		line(p, "ADD  $%d, R13, R12", r.size()+7)
		for _, second := range arrays[1:] {
			line(p, "%s R%d, R15", second.count.load(), second.count.place)
			line(p, "CMP  $%d, R15", inlineBytes/second.typ.size)
			line(p, "BHI  slow")
			line(p, "MOVD $%d, R11", second.typ.size)
			line(p, "MUL  R11, R15, R15")
			line(p, "ADD  R15, R12, R12")
		}
		line(p, "BIC  $7, R12, R12")
	}
	line(p, "ADD  R10, R12, R14")
	line(p, "MOVD 16(R0), R11")
	line(p, "CMP  R11, R14")
	line(p, "BHI  slow")
	line(p, "MOVD R14, 8(R0)")
	line(p, "LSL  $29, R12, R12")
	line(p, "ADD  $%d, R12, R12", r.number)
	line(p, "MOVD R12, (R10)")
}

// words writes what has a fixed size into the record: the words and then the structures. It returns where they end.
func (arm64) words(p *printer, r *recording) (at int) {
	at = 8
	for _, a := range r.args {
		switch {
		case a.kind != wordArgument && a.kind != countArgument:
			continue
		case a.typ.size == 8:
			line(p, "MOVD R%d, %d(R10)", a.place, at)
		default:
			line(p, "%s R%d, R11", a.load(), a.place)
			line(p, "MOVD R11, %d(R10)", at)
		}
		at += 8
	}
	for _, a := range r.args {
		if a.kind != structArgument {
			continue
		}
		for n := 0; n < int(a.typ.size); n += 8 {
			load := "MOVD"
			if int(a.typ.size)-n == 4 {
				load = "MOVWU"
			}
			line(p, "%s %d(R%d), R11", load, n, a.place)
			line(p, "MOVD R11, %d(R10)", at)
			at += 8
		}
	}
	return at
}

// copyArrays copies the arrays into the record, from its byte at on. R13 counts the bytes that are left.
func (arm64) copyArrays(p *printer, r *recording, at int) {
	for i, array := range r.counted() {
		if i == 0 {
			line(p, "ADD  $%d, R10, R10", at)
		} else {
			line(p, "MOVD R15, R13")
		}
		p.f("copy%s:\n", array.n)
		line(p, "SUBS $8, R13, R13")
		line(p, "BLT  tail%s", array.n)
		line(p, "MOVD.P 8(R%d), R11", array.place)
		line(p, "MOVD.P R11, 8(R10)")
		line(p, "B    copy%s", array.n)
		p.f("tail%s:\n", array.n)
		if array.typ.size%8 != 0 {
			line(p, "CMN  $4, R13")
			line(p, "BNE  done")
			line(p, "MOVWU (R%d), R11", array.place)
			line(p, "MOVD R11, (R10)")
			p.f("done:\n")
		}
	}
}
