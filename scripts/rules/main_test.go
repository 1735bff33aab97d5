package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// check is what the checker says of a file, and of nothing else.
func check(t *testing.T, name, text string) []string {
	t.Helper()
	var c checker
	if err := c.file(name, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return c.offenders
}

func want(t *testing.T, got []string, parts ...string) {
	t.Helper()
	if len(got) != len(parts) {
		t.Fatalf("%q, want %d", got, len(parts))
	}
	for i, part := range parts {
		if !strings.HasPrefix(got[i], part) {
			t.Errorf("%q, want %q", got[i], part)
		}
	}
}

func TestLines(t *testing.T) {
	fits := strings.Repeat("é", maxColumns)
	want(t, check(t, "a.sh", fits+"\n\t"+fits[2:]+"\n"))
	want(t, check(t, "a.c", "x\n\t"+fits+"\n"+fits+"."), "a.c:2: the line has 121 columns", "a.c:3: ")
}

func TestFiles(t *testing.T) {
	want(t, check(t, "a.h", strings.Repeat("\n", maxFileLines)))
	want(t, check(t, "a.h", strings.Repeat("\n", maxFileLines+1)), "a.h: the file has 801 lines")
}

func TestFunctions(t *testing.T) {
	function := func(lines int, inside string) string {
		return "package a\n\n// Long is a comment,\n// which is no part of it.\nfunc Long() {\n" +
			strings.Repeat("\tprintln()\n", lines-2-strings.Count(inside, "\n")) + inside + "}\n"
	}
	table := "\tfor range []int{\n" + strings.Repeat("\t\t1,\n", 20) + "\t} {\n\t}\n"
	want(t, check(t, "a.go", function(maxFunctionLines, "")))
	want(t, check(t, "a.go", function(maxFunctionLines+1, "")), "a.go:5: function Long has 81 lines")
	want(t, check(t, "a.go", function(maxFunctionLines+21, table)))
	want(t, check(t, "a.go", function(maxFunctionLines+22, table)), "a.go:5: function Long has 81 lines")
	if err := new(checker).file("a.go", []byte("package")); err == nil {
		t.Error("a file that is no Go passed")
	}
}

func TestHandWritten(t *testing.T) {
	for name, want := range map[string]bool{
		"a.go": true, "a_test.go": true, "b/gate.S": true, "a_amd64.s": true, "a.sh": true, "a.c": true, "a.h": true,
		"icd/zz_generated_a.go": false, "a.md": false, "": false, "testdata/a.comp": false,
	} {
		if got := handWritten(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSubjects(t *testing.T) {
	var c checker
	fits := strings.Repeat("é", maxSubject)
	c.subjects("1234abc " + fits + "\n1234abd " + fits + ".\n")
	want(t, c.offenders, "commit 1234abd: the subject has 73 characters")
}

// An exception holds for what it names, and goes when nothing needs it.
func TestExceptions(t *testing.T) {
	const name = "cmd/libvulkan_farside/gate.S"
	c := checker{exceptions: maps.Clone(exceptions)}
	if err := c.file(name, []byte(strings.Repeat("\n", maxFileLines+1))); err != nil {
		t.Fatal(err)
	}
	want(t, c.offenders)
	c.unused()
	if len(c.offenders) != len(exceptions)-1 || slices.ContainsFunc(c.offenders, func(o string) bool {
		return !strings.HasPrefix(o, "scripts/rules: nothing needs") || strings.Contains(o, name)
	}) {
		t.Errorf("%q", c.offenders)
	}
	long := strings.Repeat(".", maxColumns+1)
	want(t, check(t, name, long), name+":1: ")
}
