package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// assembled returns the words that an assembler makes of lines: GNU's, or LLVM's where that is missing.
func assembled(t *testing.T, lines []string) []uint32 {
	t.Helper()
	directory := t.TempDir()
	source, object := filepath.Join(directory, "a.s"), filepath.Join(directory, "a.o")
	if err := os.WriteFile(source, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{"aarch64-linux-gnu-as", "-o", object, source}
	if _, err := exec.LookPath(command[0]); err != nil {
		command = []string{"llvm-mc", "-triple=aarch64", "-filetype=obj", "-o", object, source}
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Skip("needs aarch64-linux-gnu-as (Debian's binutils-aarch64-linux-gnu) or llvm-mc")
		}
	}
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command[0], err, out)
	}
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := file.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	words := make([]uint32, len(text)/4)
	if err := binary.Read(bytes.NewReader(text), binary.LittleEndian, words); err != nil {
		t.Fatal(err)
	}
	return words
}

// instance is an operation with registers.
type instance struct {
	operation
	registers []int
}

func compare(t *testing.T, instances []instance) {
	t.Helper()
	var lines []string
	for _, i := range instances {
		lines = append(lines, i.written(i.registers...))
	}
	words := assembled(t, lines)
	if len(words) != len(lines) {
		t.Fatalf("%d words of %d lines", len(words), len(lines))
	}
	for i, in := range instances {
		if got := in.encode(in.registers...); got != words[i] {
			t.Errorf("%s: %#08x, the assembler says %#08x", lines[i], got, words[i])
		}
	}
}

// with gives an operation random registers.
func with(random *rand.Rand, o operation) instance {
	i := instance{operation: o}
	for range strings.Count(o.text, "%d") {
		i.registers = append(i.registers, random.IntN(31))
	}
	return i
}

// Every instruction of the tables, with several registers, is what an assembler makes of its text.
func TestEncodings(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var all []instance
	add := func(o operation) {
		for range 4 {
			all = append(all, with(random, o))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		add(operations[name])
	}
	for _, name := range []string{"shl", "sshr", "ushr"} {
		for _, bits := range []int{32, 64} {
			for by := range bits {
				if by > 0 || name == "shl" {
					add(shift(name, bits, by))
				}
			}
		}
	}
	for _, name := range []string{"sxtl", "uxtl"} {
		for _, bits := range []int{8, 16, 32} {
			add(extend(name, bits, false))
			add(extend(name, bits, true))
		}
	}
	for letter, size := range map[string]int{"q": 16, "d": 8, "s": 4} {
		for _, distance := range []int{0, 1, 2, 7, 100, 4095} {
			add(access(false, letter, distance*size))
			add(access(true, letter, distance*size))
		}
	}
	for _, o := range []operation{repeat32, repeat64, broadcast32, broadcast64, lane32, spread32, spread64, clear} {
		add(o)
	}
	all = append(all, instance{copyOf, []int{3, 17, 17}})
	compare(t, all)
}

// Immediates that an instruction can't have are refused.
func TestRefused(t *testing.T) {
	for name, f := range map[string]func(){
		"a shift by 32 of 32 bits": func() { shift("shl", 32, 32) },
		"a right shift by 0":       func() { shift("ushr", 32, 0) },
		"no shift":                 func() { shift("rol", 32, 1) },
		"an odd distance":          func() { access(false, "q", 8) },
		"a distance below 0":       func() { access(true, "s", -4) },
		"a large distance":         func() { access(false, "d", 8<<12) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("not refused")
				}
			}()
			f()
		})
	}
}

// The words of the kernels in the tree are what an assembler makes of the comments beside them.
func TestKernels(t *testing.T) {
	text, err := os.ReadFile("../zz_generated_neon_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	var want []uint32
	for line := range strings.Lines(string(text)) {
		var word uint32
		if _, err := fmt.Sscanf(line, "\tWORD $0x%x", &word); err == nil {
			_, comment, _ := strings.Cut(strings.TrimSpace(line), "// ")
			lines, want = append(lines, comment), append(want, word)
		}
	}
	if len(lines) < 500 {
		t.Fatalf("only %d words", len(lines))
	}
	for i, word := range assembled(t, lines) {
		if word != want[i] {
			t.Errorf("%s: %#08x, the assembler says %#08x", lines[i], want[i], word)
		}
	}
}
