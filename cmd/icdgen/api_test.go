package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const miniRegistry = "internal/registry/testdata/mini.xml"

// TestMain lets the test binary stand for icdgen itself, so that exit codes can be checked.
func TestMain(m *testing.M) {
	if os.Getenv("ICDGEN_TEST_MAIN") == "1" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// icdgen runs the command in a process of its own.
func icdgen(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "ICDGEN_TEST_MAIN=1")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func TestHelp(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"-h"}, []string{"Usage:", "api", "manifest"}},
		{[]string{"api", "-h"}, []string{"Usage:", "api -registry PATH", "--registry PATH", "--out DIR", "internal/vk",
			"Examples:"}},
	} {
		out, errOut, code := icdgen(t, test.args...)
		if code != 0 || errOut != "" {
			t.Errorf("%v: exit code %d, %q", test.args, code, errOut)
		}
		for _, w := range test.want {
			if !strings.Contains(out, w) {
				t.Errorf("%v: %q is missing in\n%s", test.args, w, out)
			}
		}
	}
}

func TestAPIFails(t *testing.T) {
	mini, err := os.ReadFile(miniRegistry)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	doc := string(mini)
	cut := strings.Index(doc, `<name>ppNames`)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no registry":  {[]string{"api"}, "-registry is missing"},
		"no such file": {[]string{"api", "-registry", filepath.Join(dir, "none.xml")}, "none.xml: no such file"},
		"empty":        {[]string{"api", "-registry", write("empty.xml", "")}, "document: no element"},
		"truncated":    {[]string{"api", "-registry", write("cut.xml", doc[:cut])}, `unexpected EOF after <type>`},
		"malformed": {[]string{"api", "-registry", write("bad.xml", strings.Replace(doc, `bitpos="31"`, `bitpos="x"`, 1))},
			`<enum name="VK_THING_B_BIT">: bad bitpos`},
		"unknown type": {[]string{"api", "-registry", write("ext.xml", strings.ReplaceAll(doc, "HANDLE<", "HANDEL<"))},
			`unknown type "HANDEL"`},
		"no exception": {[]string{"api", "-registry",
			write("exc.xml", strings.NewReplacer("HANDLE<", "HANDEL<", `"HANDLE"`, `"HANDEL"`).Replace(doc))},
			`<type name="VkHandleInfoWIN32">: handle: no Go type for HANDEL`},
		"bad flag": {[]string{"api", "-frobnicate"}, "unknown flag"},
		"extra":    {[]string{"api", "x"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(test.args, "-out", filepath.Join(dir, "out"))
			out, errOut, code := icdgen(t, args...)
			if code != 1 || out != "" {
				t.Errorf("exit code %d, printed %q; want 1 and nothing", code, out)
			}
			if !strings.Contains(errOut, test.want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("error %q, want one line with %q", errOut, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); !errors.Is(err, os.ErrNotExist) {
				t.Error("something was written in spite of the error")
			}
		})
	}
}

// TestAPIWrites also runs it twice: the second run must not touch what is right already.
func TestAPIWrites(t *testing.T) {
	dir := t.TempDir()
	support := filepath.Join(dir, "support.go")
	if err := os.WriteFile(support, []byte("package icd\n\nvar _ = cabi.Commands{CreateInstance: createInstance}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	ops := filepath.Join(dir, "op.go")
	if err := os.WriteFile(ops, []byte("package command\n\nconst OpThing Op = iota + 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(dir, "rules.go")
	if err := os.WriteFile(rules, []byte("package icd\n\nvar _ = vk."+"VUID_Mini__Mini_00001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() {
		if out, errOut, code := icdgen(t, "api", "-registry", miniRegistry, "-support", support, "-ops", ops, "-sources", dir,
			"-out="+dir); code != 0 || out != "" || errOut != "" {
			t.Fatalf("exit code %d, %q, %q", code, out, errOut)
		}
	}
	run()
	readers, err := os.ReadFile(filepath.Join(dir, "internal", "cabi", "zz_generated_commands.go"))
	if err != nil || !strings.Contains(string(readers), "CreateInstance") {
		t.Errorf("no reader for the supported command: %v", err)
	}
	records, err := os.ReadFile(filepath.Join(dir, "internal", "command", "zz_generated_records.go"))
	if err != nil || !strings.Contains(string(records), "type Thing struct") {
		t.Errorf("no record for the op: %v", err)
	}
	vuids, err := os.ReadFile(filepath.Join(dir, "internal", "vk", "zz_generated_vuids.go"))
	if err != nil || !strings.Contains(string(vuids), `"VUID-Mini::Mini-00001" +`) {
		t.Errorf("no constant for the rule in use, %v:\n%s", err, vuids)
	}
	file := filepath.Join(dir, "internal", "vk", "zz_generated_structs.go")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	run()
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !before.ModTime().Equal(after.ModTime()) {
		t.Error("an unchanged file was written again")
	}
}
