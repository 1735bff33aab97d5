package conformance

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"google.golang.org/protobuf/encoding/protowire"
)

// reported runs the demo with FARSIDE_REPORT and FARSIDE_TRACE, merges what its processes wrote, and returns the
// directory.
func reported(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "report")
	out, err := runDemo(t, []string{"FARSIDE_REPORT=" + dir, "FARSIDE_TRACE=" + filepath.Join(dir, "trace")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("go", "run", "../cmd/farside", "report", dir).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "demo_peer") || !strings.Contains(string(text), "index.html") {
		t.Fatalf("farside report: %v\n%s\nthe demo:\n%s", err, text, out)
	}
	return dir
}

// TestReport: every process of the demo stands in the summary, with its part; the one that ended by exit(3) has its own
// page; all processes' events are in one trace.
func TestReport(t *testing.T) {
	dir := reported(t)
	data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var processes []struct {
		PID              int
		Program, Outcome string
		Events           map[string]int
		Errors, Findings []any
	}
	if err := json.Unmarshal(data, &processes); err != nil {
		t.Fatal(err)
	}
	events, exits := map[string]int{}, 0
	for _, p := range processes {
		for kind, n := range p.Events {
			events[kind] += n
		}
		if p.Outcome == "exit" {
			exits++
		}
		if len(p.Errors) != 0 || len(p.Findings) != 0 {
			t.Errorf("%s has errors %v and findings %v", p.Program, p.Errors, p.Findings)
		}
	}
	// Exporter, importer, a peer in C and three in Go, a reader, painter and viewer; the demo says what they do.
	if len(processes) != 9 || exits != 1 {
		t.Errorf("%d processes, of which %d end by exit(3); want 9 and 1", len(processes), exits)
	}
	for _, kind := range []string{"heap", "create", "destroy", "allocate", "free", "export", "import", "execute", "wait",
		"signal", "transfer"} {
		if events[kind] == 0 {
			t.Errorf("no event of kind %q", kind)
		}
	}
	// Memory and a semaphore as descriptors, memory as descriptor to the importer before, an image's to the viewer, and
	// two remote addresses.
	if events["export"] != 6 || events["import"] != 4 {
		t.Errorf("%d exports and %d imports, want 6 and 4", events["export"], events["import"])
	}
	if events["allocate"] != events["free"] {
		t.Errorf("%d allocations and %d frees", events["allocate"], events["free"])
	}
	if pages, _ := filepath.Glob(filepath.Join(dir, "[0-9]*.html")); len(pages) != 1 {
		t.Errorf("pages %v, want one, of the peer in C", pages)
	}
	checkArrows(t, filepath.Join(dir, "trace"))
}

// The fields of Perfetto's Trace, TracePacket and TrackEvent that tell of arrows.
const (
	packetOfTrace   = 1
	timeOfPacket    = 8
	sequence        = 10
	eventOfPacket   = 11
	categoryOfEvent = 22
	typeOfEvent     = 9
	flowsOfEvent    = 47
	sliceEnds       = 2
)

// checkArrows fails if the demo's thousand round trips have no arrows from one process to another, or one that doesn't
// go from a signal to the end of a wait.
func checkArrows(t *testing.T, path string) {
	t.Helper()
	trace, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		time, process uint64
		waits         bool
	}
	arrows := map[uint64][]end{}
	for _, packet := range fields(t, trace)[packetOfTrace] {
		p := fields(t, packet)
		for _, event := range p[eventOfPacket] {
			e := fields(t, event)
			ends := numberOf(e[typeOfEvent]) == sliceEnds
			if len(e[flowsOfEvent]) == 1 && (ends || string(e[categoryOfEvent][0]) == "signal") {
				id := numberOf(e[flowsOfEvent])
				arrows[id] = append(arrows[id], end{numberOf(p[timeOfPacket]), numberOf(p[sequence]), ends})
			}
		}
	}
	across := 0
	for id, ends := range arrows {
		slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.time, b.time) })
		if len(ends) < 2 {
			continue // nobody waited
		}
		if ends[0].waits || !ends[1].waits {
			t.Fatalf("arrow %#x goes from a wait, or not to one: %v of %d", id, ends[:2], len(ends))
		}
		if ends[0].process != ends[1].process {
			across++
		}
	}
	if across < 1900 {
		t.Errorf("%d arrows from one process to another, of %d", across, len(arrows))
	}
}

// fields are those of a message of Protocol Buffers: bytes, or numbers in eight of them.
func fields(t *testing.T, message []byte) map[protowire.Number][][]byte {
	t.Helper()
	list := map[protowire.Number][][]byte{}
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		m := protowire.ConsumeFieldValue(field, kind, message[max(n, 0):])
		if n < 0 || m < 0 {
			t.Fatal("a message breaks off")
		}
		value := message[n : n+m]
		switch kind {
		case protowire.BytesType:
			value, _ = protowire.ConsumeBytes(value)
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			value = binary.LittleEndian.AppendUint64(nil, v)
		}
		list[field] = append(list[field], value)
		message = message[n+m:]
	}
	return list
}

// numberOf is a field of one number; 0 where there is none.
func numberOf(values [][]byte) uint64 {
	if len(values) == 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(values[0])
}

// get runs an action of the browser.
func get[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// scheme makes the browser prefer light or dark pages.
func scheme(t *testing.T, ctx context.Context, value string) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReportPage looks at the page in a browser: everything is drawn, in light and dark; keys move the timeline;
// nothing is asked of any network; and no error is logged. REPORT_SCREENSHOT=FILE keeps a picture.
func TestReportPage(t *testing.T) {
	needsTool(t, "chromium", "chromium")
	dir := reported(t)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox,
		chromedp.ExecPath("chromium"), chromedp.WindowSize(1300, 1000))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 2*caseTimeout)
	defer cancel()
	var mu sync.Mutex
	var asked, logged []string
	err := chromedp.Listen(ctx, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *network.EventRequestWillBeSent:
			asked = append(asked, e.Request.URL)
		case *runtime.EventExceptionThrown:
			logged = append(logged, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			logged = append(logged, "console."+string(e.Type))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	page := "file://" + filepath.Join(dir, "index.html")
	scheme(t, ctx, "light")
	get(t, ctx, chromedp.Navigate(page))
	count := func(selector string) int {
		return get(t, ctx, chromedp.Evaluate[int]("document.querySelectorAll('"+selector+"').length"))
	}
	text := func(selector string) string {
		return get(t, ctx, chromedp.Evaluate[string]("document.querySelector('"+selector+"').textContent"))
	}
	for _, c := range []struct {
		what, selector string
		least          int
	}{
		{"processes", "#processes tbody tr", 7}, {"exports to others", "#links tbody tr", 8},
		{"allocations", "#heaps .block", 5},
		{"marks on the timeline", "#timeline [tabindex]", 50}, {"rows of allocations", "#allocations tbody tr", 5},
	} {
		if n := count(c.selector); n < c.least {
			t.Errorf("%d %s, want at least %d", n, c.what, c.least)
		}
	}
	const end = "#timeline svg text:nth-of-type(6)" // of the axis
	before := text(end)
	get(t, ctx, chromedp.Focus("#timeline"))
	get(t, ctx, chromedp.KeyEvent("+"))
	zoomed := text(end)
	get(t, ctx, chromedp.KeyEvent("0"))
	if after := text(end); before == "" || zoomed == before || after != before {
		t.Errorf("the axis ends at %q, after + at %q, after 0 at %q", before, zoomed, after)
	}
	get(t, ctx, chromedp.KeyEvent(kb.Tab))
	if told := text("#told"); !strings.Contains(told, "demo (") {
		t.Errorf("Tab goes to something that is told as %q", told)
	}
	const ground = "getComputedStyle(document.body).backgroundColor"
	light := get(t, ctx, chromedp.Evaluate[string](ground))
	if file := os.Getenv("REPORT_SCREENSHOT"); file != "" {
		if err := os.WriteFile(file, get(t, ctx, chromedp.FullScreenshot(100)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	scheme(t, ctx, "dark")
	if dark := get(t, ctx, chromedp.Evaluate[string](ground)); light == dark {
		t.Errorf("the page's ground is %s in light and in dark", light)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[0] != page || len(logged) != 0 {
		t.Errorf("the page asked for %q and logged %q", asked, logged)
	}
}
