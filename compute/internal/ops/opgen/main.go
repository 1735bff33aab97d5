// Command opgen reads the table of operations (compute/internal/ops/ops.txt) and writes its constants and rows in Go.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	table       = "compute/internal/ops/ops.txt"
	constants   = "compute/internal/kernel/zz_generated_op.go"
	information = "compute/internal/ops/zz_generated_op.go"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", ".", "the directory to write to, as if it were the root of the tree")
	flag.Parse()
	text, err := os.ReadFile(table)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := parse(string(text))
	if err != nil {
		log.Fatal(err)
	}
	for file, write := range map[string]func([]row) []byte{constants: kernelFile, information: opsFile} {
		if err := writeGo(filepath.Join(*out, file), write(rows)); err != nil {
			log.Fatal(err)
		}
	}
}

// row is a line of the table.
type row struct {
	name, class    string
	args           []string
	result         string
	cost           int // 0 where it must not be done unasked
	commutes, list bool
	space          string
	bytes          int
	wide, physical string
	lines          []string // of comment before it, "" for an empty line
	comment        string
	kernel         bool
}

// parse reads the table.
func parse(text string) ([]row, error) {
	_, text, found := strings.Cut(text, "\n\n") // the head is about the file itself
	if !found {
		return nil, errors.New(table + " has no head")
	}
	var rows []row
	var lines []string
	kernel := true
	for at, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "##"):
			kernel, lines = false, nil
		case line == "" && lines == nil && len(rows) == 0:
		case line == "":
			lines = append(lines, "")
		case strings.HasPrefix(line, "#"):
			lines = append(lines, strings.TrimSpace(line[1:]))
		default:
			r, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("%s, line %d behind the head: %w", table, at+1, err)
			}
			r.lines, r.kernel = lines, kernel
			rows, lines = append(rows, r), nil
		}
	}
	return rows, check(rows)
}

func parseRow(line string) (r row, err error) {
	line, r.comment, _ = strings.Cut(line, "//")
	r.comment = strings.TrimSpace(r.comment)
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return r, errors.New("a row has name, class, operands>result and cost")
	}
	r.name, r.class = fields[0], fields[1]
	operands, result, ok := strings.Cut(fields[2], ">")
	if !ok {
		return r, fmt.Errorf("%q is not operands>result", fields[2])
	}
	r.args, r.result = strings.Split(operands, ","), result
	if fields[3] != "-" {
		if r.cost, err = strconv.Atoi(fields[3]); err != nil || r.cost < 1 {
			return r, fmt.Errorf("%q is no cost", fields[3])
		}
	}
	for _, attribute := range fields[4:] {
		space, size, isAccess := strings.Cut(attribute, ":")
		key, partner, _ := strings.Cut(attribute, "=")
		switch {
		case isAccess:
			r.space = space
			if r.bytes, err = strconv.Atoi(size); err != nil {
				return r, fmt.Errorf("%q: %w", attribute, err)
			}
		case attribute == "commutes":
			r.commutes = true
		case attribute == "list":
			r.list = true
		case key == "wide":
			r.wide = partner
		case key == "physical":
			r.physical = partner
		default:
			return r, fmt.Errorf("there is no attribute %q", attribute)
		}
	}
	return r, nil
}

// goTypes, goClasses and goSpaces are the words of the table in Go.
var (
	goTypes = map[string]string{"-": "None", "i32": "I32", "i64": "I64", "f32": "F32", "f64": "F64", "mask": "Mask",
		"w32": "W32", "w64": "W64", "w": "W", "at": "At", "call": "Call"}
	goClasses = map[string]string{"move": "ClassMove", "masked": "ClassMasked", "integer": "ClassInteger",
		"float": "ClassFloat", "compare": "ClassCompare", "convert": "ClassConvert", "load": "ClassLoad",
		"store": "ClassStore", "atomic": "ClassAtomic", "value": "ClassValue", "phi": "ClassPhi",
		"result": "ClassResult", "call": "ClassCall", "length": "ClassLength", "barrier": "ClassBarrier",
		"copy": "ClassCopy"}
	goSpaces = map[string]string{"": "", "slot": "SpaceSlot", "physical": "SpacePhysical", "private": "SpacePrivate"}
)

// computing are the classes of operations that a kernel computes from operands alone.
var computing = []string{"move", "integer", "float", "compare", "convert"}

// check finds words that the table has no meaning for, and names that are there twice or not at all.
func check(rows []row) error {
	names := map[string]bool{}
	for _, r := range rows {
		if names[r.name] {
			return fmt.Errorf("%s is there twice", r.name)
		}
		names[r.name] = true
	}
	for _, r := range rows {
		if goClasses[r.class] == "" {
			return fmt.Errorf("%s: there is no class %q", r.name, r.class)
		}
		for _, t := range append(r.args, r.result) {
			if goTypes[strings.TrimSuffix(t, "?")] == "" {
				return fmt.Errorf("%s: there is no type %q", r.name, t)
			}
		}
		if _, ok := goSpaces[r.space]; !ok || len(r.args) > 4 {
			return fmt.Errorf("%s: space %q, %d operands", r.name, r.space, len(r.args))
		}
		for _, partner := range []string{r.wide, r.physical} {
			if partner != "" && !names[partner] {
				return fmt.Errorf("%s: there is no %s", r.name, partner)
			}
		}
	}
	return nil
}

const heading = "// Code generated by compute/internal/ops/opgen from ops.txt; DO NOT EDIT.\n\n"

// constant writes the declaration of a constant with its comments.
func (r *row) constant(b *bytes.Buffer, value string) {
	for _, line := range r.lines {
		if line != "" {
			line = "// " + line
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(r.name + value)
	if r.comment != "" {
		b.WriteString(" // " + r.comment)
	}
	b.WriteString("\n")
}

// kernelFile is the constants of the operations that have kernels, and their names.
func kernelFile(rows []row) []byte {
	var b, names bytes.Buffer
	b.WriteString(heading + "package kernel\n\nconst (\n_ Op = iota\n\n")
	for _, r := range rows {
		if r.kernel {
			r.constant(&b, "")
			fmt.Fprintf(&names, "%s: %q,\n", r.name, r.name)
		}
	}
	b.WriteString("\nNumOps\n)\n\nvar opNames = [NumOps]string{\n" + names.String() + "}\n")
	return b.Bytes()
}

// opsFile is the constants of the others, and the rows of all.
func opsFile(rows []row) []byte {
	var b bytes.Buffer
	b.WriteString(heading + "package ops\n\nimport \"farside/compute/internal/kernel\"\n\n")
	b.WriteString("// Operations that have no kernel.\nconst (\n")
	value := " = kernel.NumOps + iota"
	for _, r := range rows {
		if !r.kernel {
			r.constant(&b, value)
			value = ""
		}
	}
	b.WriteString("\nNumOps\n)\n\nvar table = [NumOps]Info{\n")
	packages := map[string]string{"": ""}
	for _, r := range rows {
		packages[r.name] = r.name
		if r.kernel {
			packages[r.name] = "kernel." + r.name
		}
	}
	from := map[string]string{} // by the form on physical memory, the one on slots
	for _, r := range rows {
		from[r.physical] = r.name
	}
	delete(from, "")
	for _, r := range rows {
		fmt.Fprintf(&b, "%s: {Name: %q, Class: %s", packages[r.name], r.name, goClasses[r.class])
		var args []string
		for _, t := range r.args {
			name, optional := strings.CutSuffix(t, "?")
			args = append(args, fmt.Sprintf("{%s, %t}", goTypes[name], optional))
		}
		fmt.Fprintf(&b, ", Args: [4]Operand{%s}, Result: %s", strings.Join(args, ", "), goTypes[r.result])
		if r.cost > 0 {
			fmt.Fprintf(&b, ", Cost: %d", r.cost)
		}
		computes := slices.Contains(computing, r.class)
		for _, flag := range []struct {
			name string
			set  bool
		}{{"Commutes", r.commutes}, {"List", r.list}, {"Computes", computes},
			{"Pure", computes || r.class == "value" || r.class == "length"}} {
			if flag.set {
				fmt.Fprintf(&b, ", %s: true", flag.name)
			}
		}
		if r.space != "" {
			fmt.Fprintf(&b, ", Space: %s, Bytes: %d", goSpaces[r.space], r.bytes)
		}
		for _, partner := range []struct{ name, op string }{
			{"Wide", r.wide}, {"Physical", r.physical}, {"Slot", from[r.name]}} {
			if partner.op != "" {
				fmt.Fprintf(&b, ", %s: %s", partner.name, packages[partner.op])
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// writeGo formats and writes Go.
func writeGo(file string, text []byte) error {
	text, err := format.Source(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
