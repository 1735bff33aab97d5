package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"farside/internal/journal"
)

// Report is what one page shows: processes of one host, on one clock.
type Report struct {
	Processes []*Process `json:"processes"`
	Links     []Link     `json:"links"` // who exported what to whom
}

// Process is one process' journal, in the order of its events.
type Process struct {
	Header
	End         int64           `json:"end"`               // ns, as Began
	Outcome     string          `json:"outcome"`           // how it ended
	Dropped     uint64          `json:"dropped,omitempty"` // events that no longer fit
	Heaps       []Heap          `json:"heaps"`
	Allocations []*Allocation   `json:"allocations"`
	Shared      []journal.Event `json:"shared"` // exports and imports, memory that is registered with adapters
	Work        []journal.Event `json:"work"`   // of queues: execute, wait, signal
	Transfers   []journal.Event `json:"transfers"`
	Packets     []journal.Event `json:"packets"` // what went wrong with them
	Findings    []journal.Event `json:"findings"`
	Faults      []journal.Event `json:"faults"`
	Errors      []journal.Event `json:"errors"`
	Counts      map[string]int  `json:"counts"` // events of each kind
	names       map[uint64]string
	live        map[uint64]*Allocation
}

// Heap is a memory heap of the process' physical device.
type Heap struct {
	Size uint64 `json:"size"` // bytes
	Text string `json:"text"`
}

// Allocation is a VkDeviceMemory from its birth to its end.
type Allocation struct {
	Handle  uint64   `json:"handle,string"`
	Name    string   `json:"name,omitempty"`
	Size    uint64   `json:"size"` // bytes
	Heap    uint32   `json:"heap"`
	Type    uint32   `json:"type"`
	Payload uint64   `json:"payload,string"`
	From    string   `json:"from,omitempty"` // the handle type that it was imported from
	Start   int64    `json:"start"`          // ns, as Began
	End     int64    `json:"end,omitempty"`  // 0: never freed
	Stack   []string `json:"stack,omitempty"`
}

// Link joins an export with an import of the same payload, in another process or the same.
type Link struct {
	Payload uint64 `json:"payload,string"`
	From    int    `json:"from"` // index of the process
	To      int    `json:"to"`
	Start   int64  `json:"start"` // of the export
	End     int64  `json:"end"`   // of the import
	What    string `json:"what"`  // such as VkDeviceMemory
	Handle  string `json:"handle"`
	Name    string `json:"name,omitempty"`
}

// Read reads all journals in a directory. Errors: one for each journal that can't be read, beside the report of the
// others; or that there is none.
func Read(dir string) (*Report, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no journals in %s: programs with FARSIDE_REPORT=%s leave them there", dir, dir)
	}
	r := new(Report)
	var failed []error
	for _, path := range paths {
		p, err := readLog(path)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		r.Processes = append(r.Processes, p)
	}
	slices.SortFunc(r.Processes, func(a, b *Process) int { return int(a.Began - b.Began) })
	r.connect()
	return r, errors.Join(failed...)
}

// longestLine is more than any event has: stacks and texts are short.
const longestLine = 1 << 20

func readLog(path string) (*Process, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := parseLog(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Outcome == "" {
		p.Outcome = "was ended by a signal, _exit or exec, or goes on"
		if !running(p.PID) {
			p.Outcome = "was ended by a signal, _exit or exec"
		}
	}
	return p, nil
}

func running(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}

// parseLog reads a journal. A last line that its process could not finish is no error.
func parseLog(r io.Reader) (*Process, error) {
	p := &Process{Counts: map[string]int{}, names: map[uint64]string{}, live: map[uint64]*Allocation{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if err := p.line(n, lines.Bytes()); err != nil {
			if !lines.Scan() && lines.Err() == nil && n > 1 {
				break
			}
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if p.PID == 0 {
		return nil, errors.New("this is no journal: its first line says nothing of a process")
	}
	for _, a := range p.Allocations {
		a.Name = p.names[a.Handle]
	}
	return p, nil
}

func (p *Process) line(n int, b []byte) error {
	if n == 1 {
		if err := json.Unmarshal(b, &p.Header); err != nil {
			return err
		}
		p.End = p.Began
		return nil
	}
	if bytes.HasPrefix(b, []byte(`{"ended":`)) {
		var e ending
		if err := json.Unmarshal(b, &e); err != nil {
			return err
		}
		p.End, p.Dropped, p.Outcome = e.Ended, e.Dropped, "exit"
		return nil
	}
	var e journal.Event
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	p.End = max(p.End, e.Time+e.Duration)
	p.Counts[string(e.Kind)]++
	p.add(&e)
	return nil
}

func (p *Process) add(e *journal.Event) {
	switch e.Kind {
	case journal.Heap:
		for uint32(len(p.Heaps)) <= e.Heap && e.Heap < 16 { // VK_MAX_MEMORY_HEAPS
			p.Heaps = append(p.Heaps, Heap{})
		}
		if e.Heap < uint32(len(p.Heaps)) {
			p.Heaps[e.Heap] = Heap{Size: e.Size, Text: e.Text}
		}
	case journal.Name:
		p.names[e.Object.Handle] = e.Object.Name
	case journal.Allocate:
		a := &Allocation{Handle: e.Object.Handle, Size: e.Size, Heap: e.Heap, Type: e.Type, Payload: e.Payload,
			From: e.Handle, Start: e.Time, Stack: e.Stack}
		p.Allocations = append(p.Allocations, a)
		p.live[a.Handle] = a
	case journal.Free:
		if a := p.live[e.Object.Handle]; a != nil {
			a.End = e.Time
			delete(p.live, e.Object.Handle)
		}
	case journal.Export, journal.Import, journal.Register, journal.Deregister:
		p.Shared = append(p.Shared, *e)
	case journal.Execute, journal.Wait, journal.Signal:
		p.Work = append(p.Work, *e)
	case journal.Transfer:
		p.Transfers = append(p.Transfers, *e)
	case journal.Packet:
		p.Packets = append(p.Packets, *e)
	case journal.Finding:
		p.Findings = append(p.Findings, *e)
	case journal.Fault:
		p.Faults = append(p.Faults, *e)
	case journal.Error:
		p.Errors = append(p.Errors, *e)
	}
}

// connect finds the links: an import belongs to the last export of its payload before it.
func (r *Report) connect() {
	type export struct {
		process int
		event   *journal.Event
	}
	exports := map[uint64][]export{}
	for i, p := range r.Processes {
		for j := range p.Shared {
			if e := &p.Shared[j]; e.Kind == journal.Export {
				exports[e.Payload] = append(exports[e.Payload], export{i, e})
			}
		}
	}
	for i, p := range r.Processes {
		for j := range p.Shared {
			e := &p.Shared[j]
			if e.Kind != journal.Import {
				continue
			}
			var from *export
			for k := range exports[e.Payload] {
				x := &exports[e.Payload][k]
				if x.event.Time <= e.Time && (from == nil || x.event.Time >= from.event.Time) {
					from = x
				}
			}
			if from != nil {
				r.Links = append(r.Links, Link{Payload: e.Payload, From: from.process, To: i, Start: from.event.Time,
					End: e.Time, What: e.Object.Type, Handle: e.Handle,
					Name: r.Processes[from.process].names[from.event.Object.Handle]})
			}
		}
	}
	r.connectAddresses()
	slices.SortStableFunc(r.Links, func(a, b Link) int { return int(a.Start - b.Start) })
}

// connectAddresses links memory that has a remote address with the first transfer of each process that reached it.
func (r *Report) connectAddresses() {
	for i, p := range r.Processes {
		for j := range p.Shared {
			e := &p.Shared[j]
			if e.Kind != journal.Export || e.Address == 0 {
				continue
			}
			for k, other := range r.Processes {
				first := slices.IndexFunc(other.Transfers, func(t journal.Event) bool {
					return t.Time >= e.Time && t.Address-e.Address < e.Size
				})
				if first >= 0 {
					r.Links = append(r.Links, Link{Payload: e.Payload, From: i, To: k, Start: e.Time,
						End: other.Transfers[first].Time, What: e.Object.Type, Handle: e.Handle,
						Name: p.names[e.Object.Handle]})
				}
			}
		}
	}
}

// leaked is how many allocations were never freed.
func (p *Process) leaked() (n int, bytes uint64) {
	for _, a := range p.Allocations {
		if a.End == 0 {
			n++
			bytes += a.Size
		}
	}
	return n, bytes
}

// peaks is the most bytes that were allocated at one time, for each heap.
func (p *Process) peaks() []uint64 {
	type step struct {
		at   int64
		heap uint32
		up   bool
		size uint64
	}
	var steps []step
	for _, a := range p.Allocations {
		steps = append(steps, step{a.Start, a.Heap, true, a.Size})
		if a.End != 0 {
			steps = append(steps, step{a.End, a.Heap, false, a.Size})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	now, peak := make([]uint64, len(p.Heaps)), make([]uint64, len(p.Heaps))
	for _, s := range steps {
		if s.heap >= uint32(len(now)) {
			continue
		}
		if !s.up {
			now[s.heap] -= s.size
			continue
		}
		now[s.heap] += s.size
		peak[s.heap] = max(peak[s.heap], now[s.heap])
	}
	return peak
}

// lasted is how long the journal goes.
func (p *Process) lasted() time.Duration { return time.Duration(p.End - p.Began) }
