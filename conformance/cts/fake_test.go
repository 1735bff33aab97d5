package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary something else than the tests under two other names: deqp-vk's stand-in, and the
// runner.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "deqp-vk":
		os.Exit(fakeDeqp(os.Args[1:]))
	case "runner":
		main()
		os.Exit(0)
	}
	// The race detector would keep every process for a second at its exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// suite is a directory with what the runner needs: a deqp-vk and our lists.
type suite struct {
	t   *testing.T
	dir string
}

// newSuite makes a suite whose deqp-vk has the cases dEQP-VK.<name>. A case does what the last part of its name
// says, up to an underscore: see fakeDeqp.
func newSuite(t *testing.T, cases ...string) *suite {
	t.Helper()
	s := &suite{t, t.TempDir()}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deqp-vk", "runner"} {
		if err := os.Symlink(binary, s.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	s.write("all.txt", "dEQP-VK."+strings.Join(cases, "\ndEQP-VK.")+"\ndEQP-VK.elsewhere.pass\n")
	s.write("lists/cases.txt", "dEQP-VK.a.*\n")
	for _, name := range []string{"skips", "expected-failures", "flakes", "findings"} {
		s.write("lists/"+name+".txt", "# none\n")
		s.write("lists/compute/"+name+".txt", "# none\n")
		s.write("lists/graphics/"+name+".txt", "# none\n")
	}
	s.write("lists/compute/cases.txt", "# none\n")
	s.write("lists/graphics/cases.txt", "# none\n")
	s.write("out/ran.txt", "")
	return s
}

func (s *suite) path(name string) string { return filepath.Join(s.dir, name) }

func (s *suite) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *suite) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// ran returns how often each case was begun.
func (s *suite) ran() map[string]int {
	times := map[string]int{}
	for name := range strings.FieldsSeq(s.read("out/ran.txt")) {
		times[name]++
	}
	return times
}

// fakeDeqp behaves as deqp-vk does, and as it does when the driver makes it misbehave. What it is to do with a case
// stands in the case's name.
func fakeDeqp(arguments []string) int {
	option := map[string]string{}
	for _, argument := range arguments {
		name, value, _ := strings.Cut(argument, "=")
		option[name] = value
	}
	if option["--deqp-runmode"] == "stdout-caselist" {
		return listCases(option["--deqp-archive-dir"], strings.Split(option["--deqp-case"], ","))
	}
	log, err := os.OpenFile(option["--deqp-log-filename"], os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ran, err := os.OpenFile("ran.txt", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, ok := option["--deqp-stdin-caselist"]; !ok || option["--deqp-archive-dir"] == "" ||
		(option["--deqp-compute-only"] == "enable") == (os.Getenv("FARSIDE_GRAPHICS") == "on") {
		fmt.Fprintln(os.Stderr, "missing options")
		return 1
	}
	fmt.Printf("Writing test log into %s\ndEQP Core vulkan-cts-1.4.6.1 (0x01040601) starting..\n", log.Name())
	if reason, ok := option["--no-device"]; ok {
		fmt.Fprintf(os.Stderr, "FATAL ERROR: %s\n", reason)
		return 255
	}
	fmt.Fprint(log,
		"#sessionInfo releaseName vulkan-cts-1.4.6.1\n#sessionInfo logFormatVersion \"0.3.4\"\n#beginSession\n")
	status, strict := 0, os.Getenv("FARSIDE_STRICT") == "all"
	for cases := bufio.NewScanner(os.Stdin); cases.Scan(); {
		name := cases.Text()
		verb, _, _ := strings.Cut(name[strings.LastIndex(name, ".")+1:], "_")
		switch verb {
		case "unknown":
			continue
		case "vanish":
			return status
		}
		fmt.Fprintln(ran, name)
		fmt.Printf("\nTest case '%s'..\n", name)
		fmt.Fprintf(log,
			"\n#beginTestCaseResult %s\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<TestCaseResult CasePath=\"%[1]s\">\n", name)
		end := func(code, detail string) {
			fmt.Fprintf(log,
				" <Text>a message of %s</Text>\n <Result StatusCode=\"%s\">%s</Result>\n</TestCaseResult>\n\n#endTestCaseResult\n",
				name, code, detail)
			fmt.Printf("  %s (%s)\n", code, detail)
		}
		switch verb {
		case "pass":
			end("Pass", "Ok")
		case "slow":
			time.Sleep(50 * time.Millisecond)
			if strict {
				time.Sleep(100 * time.Millisecond)
			}
			end("Pass", "Ok")
		case "finds":
			if strict {
				fmt.Fprint(os.Stderr, "farside: error: FARSIDE-async-unordered: this\n    main at main.c:1\n"+
					"farside: warning: FARSIDE-guard-overrun: that\nfarside: error: FARSIDE-async-unordered: this\n")
			}
			end("Pass", "Ok")
		case "strictfail":
			if strict {
				end("Fail", "strict")
				break
			}
			end("Pass", "Ok")
		case "fail":
			fmt.Fprintf(os.Stderr, "the driver complains in %s\n", name)
			end("Fail", "1 &lt; 2\nand more")
			status = 1
		case "unsupported":
			end("NotSupported", "no compute queue")
		case "warn":
			end("QualityWarning", "nearly")
		case "lost": // as after VK_ERROR_DEVICE_LOST: the session is aborted
			end("DeviceLost", "VK_ERROR_DEVICE_LOST")
			fmt.Print("\nDONE!\n\nTest run was ABORTED!\n")
			return 1
		case "flaky": // passes at the third attempt
			if begun, _ := os.ReadFile("ran.txt"); strings.Count(string(begun), name+"\n") < 3 {
				end("Fail", "not yet")
			} else {
				end("Pass", "at last")
			}
		case "crash":
			dieOfSegfault()
		case "crashafter":
			end("Pass", "Ok")
			dieOfSegfault()
		case "orphan": // leaves a process that holds its pipes, and says which
			child := exec.Command("sleep", "600")
			child.Stdout, child.ExtraFiles = os.Stdout, []*os.File{log}
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := child.Start(); err != nil {
				panic(err)
			}
			end("Pass", strconv.Itoa(child.Process.Pid))
		case "hang":
			select {}
		case "quit":
			return 0
		case "fatal":
			fmt.Fprintln(os.Stderr, "FATAL ERROR: out of luck")
			return 255
		case "terminate":
			fmt.Fprint(log, "\n#terminateTestCaseResult Timeout\n")
			return 255
		case "garbage":
			log.Write([]byte("\x00\xff\n#beginTestCaseResult\n#endTestCaseResultat\n" +
				strings.Repeat("#endTestCaseResult ", 10000) + "\n<Result StatusCode=\"Fail\">not this one</Result>\n"))
			fmt.Print("Test case '\n  Fail (\x00)\n")
			end("Pass", "Ok")
		case "truncated": // its end is missing, and the next case begins
			fmt.Fprint(log, "<Result StatusCode=\"Pa\n")
		case "noresult":
			fmt.Fprint(log, "</TestCaseResult>\n\n#endTestCaseResult\n")
		default:
			panic("the stand-in doesn't know " + name)
		}
	}
	fmt.Fprint(log, "\nRun took 0.10 seconds\n\n#endSession\n")
	fmt.Print("\nDONE!\n")
	return status
}

func listCases(dir string, patterns []string) int {
	fmt.Print("Writing test log into /dev/null\ndEQP Core vulkan-cts-1.4.6.1 (0x01040601) starting..\nGROUP: dEQP-VK.a\n")
	all, err := os.ReadFile(filepath.Join(dir, "all.txt"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "FATAL ERROR: Failed to initialize dEQP: no cases")
		return 255
	}
	for name := range strings.FieldsSeq(string(all)) {
		if slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) }) {
			fmt.Printf("TEST: %s\n", name)
		}
	}
	return 0
}

// dieOfSegfault ends the process as a wild pointer does. Go's runtime would handle a signal to itself, a shell doesn't.
func dieOfSegfault() {
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	panic(syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil))
}
