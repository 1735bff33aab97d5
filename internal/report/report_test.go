package report

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"

	"farside/internal/config"
	"farside/internal/journal"
)

// exporter and importer are the journals of two processes that share memory.
const exporter = `{"pid":10,"program":"exporter","command":["exporter","-x"],"driver":"farside 1",` +
	`"start":"2026-01-02T03:04:05.6Z","began":1000}
{"time":1100,"kind":"heap","size":4096,"text":"device local"}
{"time":1200,"kind":"allocate","object":{"type":"VkDeviceMemory","handle":"18446744073709551615"},` +
	`"size":1024,"payload":"7"}
{"time":1210,"kind":"name","object":{"type":"VkDeviceMemory","handle":"18446744073709551615","name":"frame"}}
{"time":1300,"kind":"export","object":{"type":"VkDeviceMemory","handle":"18446744073709551615"},` +
	`"size":1024,"payload":"7","handle":"OPAQUE_FD"}
{"time":1350,"kind":"export","object":{"type":"VkDeviceMemory","handle":"18446744073709551615"},` +
	`"size":1024,"payload":"7","handle":"RDMA_ADDRESS","address":"4096"}
{"time":1400,"duration":50,"kind":"execute","object":{"type":"VkQueue","handle":"3","name":"queue 0"},"number":1}
{"time":1500,"kind":"finding","id":"FARSIDE-test","text":"a finding",` +
	`"object":{"type":"VkDeviceMemory","handle":"9"},"stack":["main.c:1"]}
{"time":1600,"kind":"free","object":{"type":"VkDeviceMemory","handle":"18446744073709551615"}}
{"ended":1700}
`

const importer = `{"pid":2147483600,"program":"importer","command":["importer"],"driver":"farside 1",` +
	`"start":"2026-01-02T03:04:06Z","began":1050}
{"time":1450,"kind":"allocate","object":{"type":"VkDeviceMemory","handle":"5"},` +
	`"size":1024,"payload":"7","handle":"OPAQUE_FD"}
{"time":1450,"kind":"import","object":{"type":"VkDeviceMemory","handle":"5"},` +
	`"size":1024,"payload":"7","handle":"OPAQUE_FD"}
{"time":1550,"duration":9,"kind":"transfer","operation":"RDMA_READ","address":"4100","size":8}
{"time":1560,"kind":"fault","command":"vkMapMemory","text":"VK_ERROR_MEMORY_MAP_FAILED"}
{"time":1570,"kind":"error","command":"vkMapMemory","text":"cannot map"}
{"time":1580,"kind":"unfinis`

func writeJournals(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"10.jsonl": exporter, "11.jsonl": importer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestMerge: two journals, of which one breaks off in a line, become one report.
func TestMerge(t *testing.T) {
	dir := writeJournals(t)
	r, err := Merge(dir)
	if err != nil {
		t.Fatal(err)
	}
	links := []Link{
		{Payload: 7, From: 0, To: 1, Start: 1300, End: 1450, What: "VkDeviceMemory", Handle: "OPAQUE_FD", Name: "frame"},
		{Payload: 7, From: 0, To: 1, Start: 1350, End: 1550, What: "VkDeviceMemory", Handle: "RDMA_ADDRESS", Name: "frame"},
	}
	// An import belongs to the last export before it, whatever its handle type was.
	links[0].Start = 1350
	if d := cmp.Diff(links, r.Links); d != "" {
		t.Errorf("who exported what to whom: want -, got +\n%s", d)
	}
	a := r.Processes[0].Allocations[0]
	want := &Allocation{Handle: 1<<64 - 1, Name: "frame", Size: 1024, Payload: 7, Start: 1200, End: 1600}
	if d := cmp.Diff(want, a); d != "" {
		t.Errorf("allocation: want -, got +\n%s", d)
	}
	var summaries []Summary
	read(t, filepath.Join(dir, "summary.json"), func(b []byte) error { return json.Unmarshal(b, &summaries) })
	if d := cmp.Diff(r.Summaries(), summaries); d != "" {
		t.Errorf("summary.json: want -, got +\n%s", d)
	}
	if s := summaries[1]; s.Leaked != 1 || s.LeakedIn != 1024 || s.Outcome != "was ended by a signal, _exit or exec" ||
		summaries[0].Leaked != 0 || summaries[0].Outcome != "exit" || summaries[0].Peak[0] != 1024 {
		t.Errorf("summaries %+v", summaries)
	}
	var tests suites
	read(t, filepath.Join(dir, "junit.xml"), func(b []byte) error { return xml.Unmarshal(b, &tests) })
	if tests.Tests != 2 || tests.Failures != 1 || tests.Suites[0].Cases[0].Failure.Text != "a finding\nmain.c:1" ||
		tests.Suites[1].Failures != 0 || !strings.Contains(tests.Suites[1].Out, "fault: vkMapMemory") {
		t.Errorf("junit.xml: %+v", tests)
	}
}

func read(t *testing.T, path string, parse func([]byte) error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = parse(b)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// suites is the form of JUnit's reports.
type suites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Suites   []struct {
		Failures int    `xml:"failures,attr"`
		Name     string `xml:"name,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
		Out string `xml:"system-out"`
	} `xml:"testsuite"`
}

// TestJUnitHoldsAnyText: what programs call themselves, and what findings say, comes out of XML as it went in, but for
// what XML has no characters for.
func TestJUnitHoldsAnyText(t *testing.T) {
	const evil = "</failure>\"'<![CDATA[ & ]]>\ta\r\nb \u00e9"
	r := &Report{Processes: []*Process{{Header: Header{PID: 1, Program: evil + "\x01\xff\uffff"},
		Findings: []journal.Event{{ID: evil, Text: evil, Stack: []string{evil}}}}}}
	var tests suites
	if err := xml.Unmarshal(r.junit(), &tests); err != nil {
		t.Fatal(err)
	}
	got := tests.Suites[0].Cases[0]
	if got.Name != evil || got.Failure.Message != evil || got.Failure.Text != evil+"\n"+evil ||
		tests.Suites[0].Name != evil+"\ufffd\ufffd\ufffd (1)" {
		t.Errorf("%+v", tests)
	}
}

// TestPageHoldsAnyText: what programs call themselves and their objects ends no element of the page.
func TestPageHoldsAnyText(t *testing.T) {
	const evil = `</script><script>alert(1)</script>/*program*/<!--`
	r := &Report{Processes: []*Process{{Header: Header{PID: 1, Program: evil, Command: []string{evil}}}}}
	page, err := r.page()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), `<script type="application/json" id="data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var got Report
	if err := json.Unmarshal([]byte(data), &got); err != nil || got.Processes[0].Program != evil {
		t.Errorf("the page's data is %v after %v", got.Processes, err)
	}
	if n := strings.Count(string(page), "<script"); n != 2 {
		t.Errorf("the page has %d scripts, want 2", n)
	}
}

// TestRefusals: what is no journal is refused with its file and line, and the others are merged all the same.
func TestRefusals(t *testing.T) {
	dir := writeJournals(t)
	for name, text := range map[string]string{
		"empty.jsonl": "", "text.jsonl": "hello\n", "middle.jsonl": exporter[:150] + "\n}\n" + exporter,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Merge(dir)
	if r == nil || len(r.Processes) != 2 || err == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []string{"empty.jsonl: this is no journal", "text.jsonl: line 1", "middle.jsonl: line 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if _, err := Merge(t.TempDir()); err == nil || !strings.Contains(err.Error(), "FARSIDE_REPORT=") {
		t.Errorf("a directory without journals: %v", err)
	}
}

// TestSinks: what the journal tells reaches the files; the trace is a row of packets.
func TestSinks(t *testing.T) {
	dir := t.TempDir()
	s := &config.Settings{Report: filepath.Join(dir, "a/b"), Trace: filepath.Join(dir, "trace")}
	var ends []func()
	for range 2 { // the second adds nothing
		if err := Start(s, "test", func(f func()) { ends = append(ends, f) }); err != nil {
			t.Fatal(err)
		}
	}
	if len(ends) != 2 {
		t.Fatalf("%d ends, want one for each file", len(ends))
	}
	o := journal.Object{Type: "VkDeviceMemory", Handle: 4, Name: "x"}
	for _, e := range []journal.Event{
		{Kind: journal.Heap, Size: 4096}, {Kind: journal.Allocate, Object: o, Size: 64}, {Kind: journal.Free, Object: o},
		{Kind: journal.Wait, Payload: 9, Value: 3, Duration: 5}, {Kind: journal.Execute, Number: 1, Duration: 7},
		{Kind: journal.Export, Object: o, Handle: "OPAQUE_FD", Payload: 8}, {Kind: journal.Finding, ID: "I", Text: "T"},
		{Kind: journal.Transfer, Operation: "RDMA_WRITE", Size: 8, Duration: 2}, {Kind: journal.Fault, Command: "vkX"},
		{Kind: journal.Transfer, Operation: "send", Object: journal.Object{Type: "ibv_qp", Handle: 17}, Size: 9, Duration: 2},
		{Kind: journal.Packet, Operation: "a packet is missing", Object: journal.Object{Type: "ibv_qp", Handle: 17}},
		{Kind: journal.Register, Object: journal.Object{Type: "ibv_mr", Handle: 5}, Address: 4096, Size: 64},
	} {
		journal.Emit(e)
	}
	for _, end := range ends {
		end()
	}
	if journal.On() {
		t.Error("somebody still reads the journal")
	}
	r, err := Read(s.Report)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Processes[0]
	if p.Outcome != "exit" || len(p.Allocations) != 1 || p.Allocations[0].End == 0 || len(p.Work) != 2 ||
		len(p.Findings) != 1 || len(p.Transfers) != 2 || len(p.Packets) != 1 || len(p.Shared) != 2 || p.PID != os.Getpid() {
		t.Errorf("the journal says %+v", p)
	}
	pages, _ := filepath.Glob(filepath.Join(s.Report, "*.html"))
	if len(pages) != 1 {
		t.Errorf("%d pages, want the process' own", len(pages))
	}
	checkTrace(t, s.Trace)
}

// checkTrace reads a trace as protobuf: whole packets, tracks that were announced before events lie on them, and as
// many ends as begins.
func checkTrace(t *testing.T, path string) {
	t.Helper()
	known, counts := map[uint64]bool{}, map[uint64]int{}
	for _, fields := range packets(t, path) {
		if track, ok := fields[packetTrack]; ok {
			known[message(t, track.bytes)[trackUUID].number] = true
		}
		if event, ok := fields[packetEvent]; ok {
			e := message(t, event.bytes)
			if !known[e[eventTrack].number] || fields[packetTime].number == 0 || fields[packetSequence].number == 0 {
				t.Errorf("an event %v on a track that nobody announced, or without time or sequence", e)
			}
			counts[e[eventType].number]++
		}
	}
	want := map[uint64]int{sliceBegin: 4, sliceEnd: 4, instant: 5, counter: 2}
	if d := cmp.Diff(want, counts); d != "" {
		t.Errorf("events by type: want -, got +\n%s", d)
	}
}

// TestNoRegularFile: what a trace or a page can't be written to, or a journal read from, fails at once. A FIFO kept
// vkCreateInstance waiting.
func TestNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	fifo, read := filepath.Join(dir, "fifo"), filepath.Join(dir, "read")
	for _, path := range []string{fifo, read} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.OpenFile(read, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, path := range []string{fifo, read, "/dev/full"} {
		want := path + ": not a regular file"
		if _, err := newTraceFile(path, "test"); err == nil || err.Error() != want {
			t.Errorf("a trace: %v, not %s", err, want)
		}
		if err := writeFile(path, []byte("page")); err == nil || err.Error() != want {
			t.Errorf("a page: %v, not %s", err, want)
		}
		if _, err := openFile(path); err == nil || err.Error() != want {
			t.Errorf("a journal: %v, not %s", err, want)
		}
	}
}

// TestTraceArrows: an arrow goes from a signal to what waits for it, also where the wait began first, and from an
// export to an import. The counter of a heap has the bytes in use.
func TestTraceArrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	trace, err := newTraceFile(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	one, other := journal.Object{Type: "VkQueue", Handle: 1}, journal.Object{Type: "VkQueue", Handle: 2}
	m := journal.Object{Type: "VkDeviceMemory", Handle: 4}
	for _, e := range []journal.Event{
		{Kind: journal.Wait, Object: other, Payload: 9, Value: 3, Time: 100, Duration: 300},
		{Kind: journal.Signal, Object: one, Payload: 9, Value: 3, Time: 200, Duration: 50},
		{Kind: journal.Signal, Object: one, Payload: 9, Value: 4, Time: 500, Duration: 50},
		{Kind: journal.Wait, Object: other, Payload: 9, Value: 4, Time: 600, Duration: 1},
		{Kind: journal.Signal, Object: one, Payload: 5, Time: 610, Duration: 1}, // a binary semaphore, twice
		{Kind: journal.Wait, Object: other, Payload: 5, Time: 605, Duration: 10},
		{Kind: journal.Signal, Object: one, Payload: 5, Time: 620, Duration: 1},
		{Kind: journal.Wait, Object: other, Payload: 5, Time: 630, Duration: 1},
		{Kind: journal.Signal, Object: one, Payload: 6, Time: 640, Duration: 1, Operation: journal.OfFence},
		{Kind: journal.Signal, Object: one, Payload: 6, Time: 650, Duration: 1, Operation: journal.OfFence},
		{Kind: journal.Allocate, Object: m, Heap: 1, Size: 64, Time: 700},
		{Kind: journal.Export, Object: m, Payload: 8, Handle: "OPAQUE_FD", Time: 710},
		{Kind: journal.Allocate, Object: other, Heap: 1, Size: 16, Time: 720},
		{Kind: journal.Import, Object: m, Payload: 8, Handle: "OPAQUE_FD", Time: 730},
		{Kind: journal.Free, Object: m, Heap: 1, Time: 740},
	} {
		trace.Write(&e)
	}
	if err := trace.file.Close(); err != nil {
		t.Fatal(err)
	}
	// The times of each flow's events; the counter's values.
	arrows, last, heap := map[uint64][]uint64{}, map[uint64][]uint64{}, []uint64(nil)
	for _, p := range packets(t, path) {
		e := message(t, p[packetEvent].bytes)
		if f, ok := e[eventFlow]; ok {
			arrows[f.number] = append(arrows[f.number], p[packetTime].number)
		}
		if f, ok := e[eventLastFlow]; ok {
			last[f.number] = append(last[f.number], p[packetTime].number)
		}
		if e[eventType].number == counter {
			heap = append(heap, e[eventCounter].number)
		}
	}
	want := map[uint64][]uint64{flow(9, 3): {200, 400}, flow(9, 4): {500, 601}, flow(5, 0): {610, 620}, 8: {710, 730}}
	less := cmpopts.SortSlices(func(a, b uint64) bool { return a < b }) // the reader of a trace sorts by time
	if d := cmp.Diff(want, arrows, less); d != "" {
		t.Errorf("the times of each arrow's ends: want -, got +\n%s", d)
	}
	if d := cmp.Diff(map[uint64][]uint64{flow(5, 0): {615, 631}}, last, less); d != "" {
		t.Errorf("where arrows of binary semaphores end: want -, got +\n%s", d)
	}
	if d := cmp.Diff([]uint64{64, 80, 16}, heap); d != "" {
		t.Errorf("bytes of the heap: want -, got +\n%s", d)
	}
}

// packets are those of a trace.
func packets(t *testing.T, path string) (list []map[protowire.Number]value) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		packet, m := protowire.ConsumeBytes(b[max(n, 0):])
		if field != tracePacket || kind != protowire.BytesType || m < 0 {
			t.Fatalf("no packet: field %d of type %d", field, kind)
		}
		b = b[n+m:]
		list = append(list, message(t, packet))
	}
	return list
}

type value struct {
	number uint64
	bytes  []byte
}

func message(t *testing.T, b []byte) map[protowire.Number]value {
	t.Helper()
	fields := map[protowire.Number]value{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		var v value
		var m int
		switch rest := b[max(n, 0):]; kind {
		case protowire.VarintType:
			v.number, m = protowire.ConsumeVarint(rest)
		case protowire.Fixed64Type:
			v.number, m = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			v.bytes, m = protowire.ConsumeBytes(rest)
		default:
			t.Fatalf("field %d of type %d", field, kind)
		}
		if n < 0 || m < 0 {
			t.Fatal("a message breaks off")
		}
		fields[field] = v
		b = b[n+m:]
	}
	return fields
}

// FuzzParseLog: no journal, whoever wrote it, makes the reader crash.
func FuzzParseLog(f *testing.F) {
	f.Add(exporter)
	f.Add(importer)
	f.Add(`{"pid":1}` + "\n" + `{"kind":"heap","heap":4294967295}` + "\n" +
		`{"kind":"allocate","heap":4294967295,"size":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseLog(strings.NewReader(text))
		if err != nil {
			return
		}
		r := &Report{Processes: []*Process{p}}
		r.connect()
		if _, err := r.page(); err != nil {
			t.Errorf("a journal that was read has no page: %v", err)
		}
		var tests suites
		if err := xml.Unmarshal(r.junit(), &tests); err != nil {
			t.Fatalf("junit.xml is no XML: %v", err)
		}
		if len(r.Summaries()) != 1 || len(tests.Suites) != 1 {
			t.Error("a process lacks in a summary")
		}
	})
}
