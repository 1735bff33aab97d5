package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// listed finds a device in the output of farside regions --json.
func listed(t *testing.T, d device, text []byte) (found map[string]any) {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, r := range list {
		if r["address"] == d.at(0) {
			found = r
		}
	}
	return found
}

func TestRegions(t *testing.T) {
	d := newDevice(t, 3<<20, rdmasim.AccessRead|rdmasim.AccessWrite, "mail\x1b[2Jbox")
	ok(t, strings.NewReader("hello"), "write", d.at(10))
	r := listed(t, d, ok(t, nil, "regions", "--json"))
	counters, _ := r["counters"].(map[string]any)
	for name, want := range map[string]any{"pid": float64(os.Getpid()), "uid": float64(os.Getuid()),
		"length":      float64(3 << 20),
		"device_uuid": "dead0000-0000-0000-0000-0000000000ff", "name": "mail\x1b[2Jbox", "key": fmt.Sprintf("%#x", d.Key())} {
		if r[name] != want {
			t.Errorf("%s is %v, want %v", name, r[name], want)
		}
	}
	if counters["writes"] != 1.0 || counters["bytes_written"] != 5.0 || counters["reads"] != 0.0 {
		t.Errorf("counters %v", counters)
	}
	if access := fmt.Sprint(r["access"]); access != "[read write]" {
		t.Errorf("access %v", access)
	}
	table := string(ok(t, nil, "regions"))
	for line := range strings.Lines(table) {
		if strings.Contains(line, d.at(0)) {
			f := strings.Fields(line)
			if f[0] != r["owner"] || f[1] != strconv.Itoa(os.Getpid()) || f[4] != "3MiB" || f[5] != "read,write" ||
				f[8] != "1" ||
				f[12] != "mail?[2Jbox" {
				t.Errorf("%q", f)
			}
			return
		}
	}
	t.Errorf("%#x is missing in %s", d.Address(), table)
}

// The list is made again and again, and shows what happens meanwhile.
func TestWatch(t *testing.T) {
	d := newDevice(t, 4096, rdmasim.AccessAll, "")
	w := startFarside(t, "regions", "--watch", "--json")
	if listed(t, d, []byte(w.line())) == nil {
		t.Fatal("the region is missing")
	}
	d.Close()
	for listed(t, d, []byte(w.line())) != nil {
	}
	w.interrupt()
}

func TestRead(t *testing.T) {
	d := newDevice(t, 3<<20, rdmasim.AccessAll, "")
	for _, test := range []struct {
		offset uint64
		length string
		want   int
	}{{0, "16", 16}, {5, "0x10", 16}, {100, "1KiB", 1024}, {1, "2MiB", 2 << 20}, {0, "3MiB", 3 << 20}, {3<<20 - 1, "1", 1},
		{7, "0", 0}} {
		if got := ok(t, nil, "read", d.at(test.offset), test.length); !bytes.Equal(got,
			d.get(int64(test.offset), test.want)) {
			t.Errorf("%s bytes at %d are wrong", test.length, test.offset)
		}
	}
	decimal := strconv.FormatUint(d.Address()+3, 10)
	if got := ok(t, nil, "read", decimal, "4"); !bytes.Equal(got, d.get(3, 4)) {
		t.Errorf("% x at %s", got, decimal)
	}
	file := filepath.Join(t.TempDir(), "data")
	ok(t, nil, "read", d.at(0), "3MiB", "-o", file)
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, d.get(0, 3<<20)) {
		t.Errorf("the file has other bytes: %v", err)
	}
	d.set(0, []byte("Farside says: \x00\xffAB"))
	want := fmt.Sprintf("%016x  46 61 72 73 69 64 65 20  73 61 79 73 3a 20 00 ff  |Farside says: ..|\n"+
		"%016x  41 42                                             |AB|\n", d.Address(), d.Address()+16)
	if got := string(ok(t, nil, "read", d.at(0), "18", "--hex")); got != want {
		t.Errorf("dump\n%swant\n%s", got, want)
	}
}

func TestWrite(t *testing.T) {
	d := newDevice(t, 3<<20, rdmasim.AccessAll, "")
	data := bytes.Repeat([]byte("0123456789abcde"), 2<<20/15)
	ok(t, bytes.NewReader(data), "write", d.at(9)) // a pipe
	if !bytes.Equal(d.get(9, len(data)), data) || !bytes.Equal(d.get(0, 9), pattern(9)) {
		t.Error("wrong bytes from a pipe")
	}
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, data[:100_000], 0o600); err != nil {
		t.Fatal(err)
	}
	ok(t, nil, "write", d.at(1<<20), "-i", file)
	if !bytes.Equal(d.get(1<<20, 100_000), data[:100_000]) {
		t.Error("wrong bytes from a file")
	}
	// A file that is too large by one byte isn't begun.
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := d.get(3<<20-99_999, 99_999)
	r := farside(t, f, "write", d.at(3<<20-99_999))
	if r.code != 1 || !strings.Contains(r.stderr, "leaves its region") ||
		!bytes.Equal(before, d.get(3<<20-99_999, 99_999)) {
		t.Errorf("a file that is too large: %+v", r)
	}
	r = farside(t, bytes.NewReader(data), "write", d.at(2<<20))
	if r.code != 1 || !strings.Contains(r.stderr, "after ") || !strings.Contains(r.stderr, "leaves its region") {
		t.Errorf("a pipe that is too long: %+v", r)
	}
}

func TestAtomic(t *testing.T) {
	d := newDevice(t, 4096, rdmasim.AccessAll, "")
	for _, test := range []struct {
		before uint64
		args   string
		old    string
		after  uint64
	}{
		{5, "fetch-add 3", "5", 8},
		{5, "fetch-add -6", "5", 1<<64 - 1},
		{5, "fetch-add 0x10 --hex", "0x5", 21},
		{1<<32 - 1, "fetch-add 1 --width 32", "4294967295", 0},
		{5, "fetch-add -1 --width 32", "5", 4},
		{5, "swap 0xffffffffffffffff", "5", 1<<64 - 1},
		{7<<32 | 5, "swap 6 --width 32", "5", 7<<32 | 6},
		{5, "compare-swap 5 9", "5", 9},
		{5, "compare-swap 6 9", "5", 5},
		{5, "compare-swap 5 9 --width 32", "5", 9},
		{0b1100, "and 0b1010", "12", 0b1000},
		{0b1100, "or 0b1010", "12", 0b1110},
		{0b1100, "xor 0b1010", "12", 0b0110},
		{0b1100, "xor 0b1010 --width 32", "12", 0b0110},
	} {
		d.set(8, binary.NativeEndian.AppendUint64(nil, test.before))
		words := strings.Fields(test.args)
		var flags, values []string
		for i, w := range words {
			if strings.HasPrefix(w, "--") {
				flags = words[i:]
				break
			}
			values = append(values, w)
		}
		args := append(append(append([]string{"atomic"}, flags...), "--", d.at(8)), values...)
		old := strings.TrimSpace(string(ok(t, nil, args...)))
		if after := binary.NativeEndian.Uint64(d.get(8, 8)); old != test.old || after != test.after {
			t.Errorf("%s on %d: %s, then %d; want %s and %d", test.args, test.before, old, after, test.old, test.after)
		}
	}
}

func TestPing(t *testing.T) {
	for _, size := range []int{3, 100, 3 << 20} {
		d := newDevice(t, size, rdmasim.AccessAll, "")
		out := string(ok(t, nil, "ping", d.at(0), "--time", "1ms"))
		if strings.Contains(out, "write") || !strings.Contains(out, "B read: median ") || d.Counters().Writes != 0 {
			t.Errorf("region of %d:\n%s", size, out)
		}
		out = string(ok(t, nil, "ping", d.at(0), "--time", "1ms", "--write"))
		last := formatSize(uint64(min(size, 1<<20)))
		if !strings.Contains(out, "B write: median ") || !strings.Contains(out, "write MB/s") ||
			!strings.Contains(out, " "+last+" ") ||
			d.Counters().Writes == 0 {
			t.Errorf("region of %d:\n%s", size, out)
		}
		if !bytes.Equal(d.get(0, size), pattern(size)) {
			t.Errorf("region of %d: other bytes afterwards", size)
		}
	}
}

// An interrupt ends a measurement, and leaves the memory as it was.
func TestPingInterrupted(t *testing.T) {
	d := newDevice(t, 4096, rdmasim.AccessAll, "")
	p := startFarside(t, "ping", d.at(0), "--write", "--time", "1h")
	for d.Counters().Reads == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if code := p.cmd.ProcessState.ExitCode(); code != 1 || p.stderr.String() != "farside: interrupted\n" {
		t.Errorf("status %d, %q", code, p.stderr)
	}
	if !bytes.Equal(d.get(0, 4096), pattern(4096)) {
		t.Error("other bytes afterwards")
	}
}

func TestErrors(t *testing.T) {
	d := newDevice(t, 4096, rdmasim.AccessAll, "")
	readOnly := newDevice(t, 4096, rdmasim.AccessRead, "[ro]")
	freed := newDevice(t, 4096, rdmasim.AccessAll, "")
	freed.Close()
	for _, test := range []struct{ text, args string }{
		{"no region at this remote address: farside regions,", "read 0x1000 1"},
		{"farside regions,", "read " + freed.at(0) + " 1"},
		{"leaves its region", "read " + d.at(0) + " 4097"},
		{"leaves its region", "read " + d.at(4095) + " 2"},
		{"leaves its region", "read " + d.at(0) + " 0xffffffffffffffff"},
		{"no such file or directory", "read " + d.at(0) + " 1 -o /nowhere/file"},
		{"no such file or directory", "write " + d.at(0) + " -i /nowhere/file"},
		{"does not grant this access", "atomic " + readOnly.at(0) + " fetch-add 1"},
		{rdmasim.AccessVariable, "ping --write --time 1ms " + readOnly.at(0)},
		{"multiple of 4 with --width 32", "atomic " + d.at(4) + " fetch-add 1"},
		{"no region at this", "ping 5"},
		{"not tls://host:port/", "--fabric tcp://x read 0x1000 1"},
		{"call farside regions there", "--fabric tls://127.0.0.1:1/ regions"},
	} {
		wantFailure(t, 1, test.text, strings.Fields(test.args)...)
	}
	for _, test := range []struct{ text, args string }{
		{"farside read --help", "read 0x1000"},
		{"unknown flag: --bogus", "read 1 2 --bogus"},
		{"not an address", "read zzz 1"},
		{"is not a size", "read 1 1XB"},
		{"farside write --help", "write"},
		{"not an address", "write x"},
		{"none of the others can be", "read 1 1 --hex -o x"},
		{"is not an operation: and, fetch-add", "atomic 8 nand 1"},
		{"compare-swap takes 2 values, not 1", "atomic 8 compare-swap 1"},
		{"or takes 1 values, not 2", "atomic 8 or 1 2"},
		{"not a number of 32 bits", "atomic 8 or 0x100000000 --width 32"},
		{"--width is 32 or 64", "atomic 8 or 1 --width 16"},
		{"--time must be positive", "ping 8 --time 0s"},
		{"--fabric doesn't go with it", "serve --fabric tls://127.0.0.1:1/"},
		{"farside regions --help", "regions all"},
	} {
		wantFailure(t, 2, test.text, strings.Fields(test.args)...)
	}
}

func TestFullOutput(t *testing.T) {
	d := newDevice(t, 4096, rdmasim.AccessAll, "")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"read", d.at(0), "16"}, {"read", d.at(0), "16", "--hex"}, {"regions"},
		{"regions", "--json"}} {
		if r := call(t, nil, full, args...); r.code != 1 || !strings.Contains(r.stderr, unix.ENOSPC.Error()) {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"regions", "read", "write", "atomic", "serve", "ping", "run", "verbs", "doctor"} {
		help := string(ok(t, nil, name, "--help"))
		if !strings.Contains(help, "Examples:") || !strings.Contains(help, "--fabric") {
			t.Errorf("%s --help:\n%s", name, help)
		}
		if !strings.Contains(string(ok(t, nil, "--help")), "  "+name+" ") {
			t.Errorf("%s is missing in the list", name)
		}
	}
	if script := string(ok(t, nil, "completion", "bash")); !strings.Contains(script, "__start_farside") {
		t.Errorf("completion bash:\n%.200s", script)
	}
	d := newDevice(t, 4096, rdmasim.AccessAll, "weights")
	if r := farside(t, nil, "__complete", "read", ""); !strings.Contains(string(r.out), d.at(0)+"\t4KiB weights") {
		t.Errorf("completions %s", r.out)
	}
	if r := farside(t, nil, "__complete", "atomic", d.at(0), ""); !strings.Contains(string(r.out), "compare-swap\n") {
		t.Errorf("completions %s", r.out)
	}
}

// What another host can do is what this one can.
func TestServe(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, bytes.Repeat([]byte("x1"), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", "")
	wantFailure(t, 1, "--secret-file", "serve")
	wantFailure(t, 1, "--bind", "serve", "--bind", "0.0.0.0", "--secret-file", secret)
	d := newDevice(t, 3<<20, rdmasim.AccessAll, "")
	s := startFarside(t, "serve", "--secret-file", secret)
	fabric := s.line()
	if !strings.HasPrefix(fabric, "tls://127.0.0.1:") {
		t.Fatalf("%q is not the name of a fabric", fabric)
	}
	far := func(args ...string) []string {
		return append([]string{"--fabric", fabric, "--secret-file", secret}, args...)
	}
	if got := ok(t, nil, far("read", d.at(5), "2MiB")...); !bytes.Equal(got, d.get(5, 2<<20)) {
		t.Error("wrong bytes")
	}
	ok(t, strings.NewReader("from afar"), far("write", d.at(0))...)
	if got := d.get(0, 9); string(got) != "from afar" {
		t.Errorf("%q", got)
	}
	d.set(16, binary.NativeEndian.AppendUint64(nil, 41))
	if old := ok(t, nil, far("atomic", d.at(16), "fetch-add", "1")...); string(old) != "41\n" || d.get(16, 1)[0] != 42 {
		t.Errorf("%q, then %d", old, d.get(16, 1)[0])
	}
	before := d.get(0, 3<<20)
	if out := ok(t, nil, far("ping", d.at(0), "--time", "5ms", "--write")...); !bytes.Contains(out, []byte("1MiB")) {
		t.Errorf("ping:\n%s", out)
	}
	if !bytes.Equal(before, d.get(0, 3<<20)) {
		t.Error("other bytes after a ping")
	}
	wantFailure(t, 1, "farside regions,", far("read", "0x1000", "1")...)
	wantFailure(t, 1, "same secret", "--fabric", fabric, "read", d.at(0), "1")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, bytes.Repeat([]byte("y2"), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, 1, "same secret", "--fabric", fabric, "--secret-file", other, "read", d.at(0), "1")
	s.interrupt()
	wantFailure(t, 1, "is farside serve running there", far("read", d.at(0), "1")...)
}

func TestNumbers(t *testing.T) {
	for s, want := range map[string]uint64{"0": 0, "4096": 4096, "0x1000": 4096, "3KiB": 3072, "2 MiB": 2 << 20,
		"1TiB": 1 << 40} {
		if n, err := parseSize(s); n != want || err != nil {
			t.Errorf("parseSize(%q) = %d, %v", s, n, err)
		}
	}
	for _, n := range []uint64{0, 1, 1023, 1024, 1 << 20, 3 << 30, 1<<40 + 1, 1 << 62, 1<<64 - 1} {
		if back, err := parseSize(formatSize(n)); back != n || err != nil {
			t.Errorf("%d became %s became %d, %v", n, formatSize(n), back, err)
		}
	}
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 150 << 10: "150KiB",
		48801359568: "45.45GiB", 1 << 52: "4PiB"} {
		if s := roughly(n); s != want {
			t.Errorf("roughly(%d) = %s, want %s", n, s, want)
		}
	}
	for s, want := range map[string]uint64{"-1": 1<<32 - 1, "0xffffffff": 1<<32 - 1, "-2147483648": 1 << 31} {
		if n, err := parseWord(s, 32); n != want || err != nil {
			t.Errorf("parseWord(%q) = %d, %v", s, n, err)
		}
	}
	if n, err := parseWord("-2147483649", 32); err == nil {
		t.Errorf("parseWord of too small a number = %d", n)
	}
}

// Attack 13: somebody who bound 6,000 names of owners made farside regions list nothing, with status 0 and no word.
func TestRegionsSayWhoIsSilent(t *testing.T) {
	const names = 300
	d := newDevice(t, 4096, rdmasim.AccessAll, "among many")
	for i := range names {
		l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: fmt.Sprintf("@farside-rdma-%05x", 0xf0000+i),
			Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	r := farside(t, nil, "regions")
	if r.code != 0 || !strings.Contains(string(r.out), d.at(0)) {
		t.Errorf("%d: the list lacks %s:\n%s%s", r.code, d.at(0), r.out, r.stderr)
	}
	var silent, all int
	_, text, _ := strings.Cut(r.stderr, "does not answer: ")
	if n, err := fmt.Sscanf(text, "%d of %d", &silent, &all); n != 2 || silent < names || all <= names ||
		strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%v: standard error is %q", err, r.stderr)
	}
}
