package report

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/journal"
)

// The fields of Perfetto's messages that traces use (perfetto.dev/docs/reference/trace-packet-proto).
const (
	tracePacket = 1 // of Trace

	packetClocks    = 6 // of TracePacket
	packetTime      = 8
	packetSequence  = 10
	packetEvent     = 11
	packetTimeClock = 58
	packetTrack     = 60

	clocksClock = 1 // of ClockSnapshot
	clockID     = 1 // of ClockSnapshot.Clock
	clockTime   = 2
	monotonic   = 3 // a BuiltinClock
	boottime    = 6

	trackUUID    = 1 // of TrackDescriptor
	trackName    = 2
	trackProcess = 3
	trackParent  = 5
	trackCounter = 8
	processPID   = 1 // of ProcessDescriptor
	processArgs  = 2
	processName  = 6
	counterUnit  = 3 // of CounterDescriptor
	unitBytes    = 3

	eventType       = 9 // of TrackEvent
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventAnnotation = 4
	eventCounter    = 30
	eventFlow       = 47
	eventLastFlow   = 48
	noteName        = 10 // of DebugAnnotation
	noteText        = 6
	noteNumber      = 3

	sliceBegin = 1 // a TrackEvent.Type
	sliceEnd   = 2
	instant    = 3
	counter    = 4
)

// traceFile is the sink that appends to a Perfetto trace. A trace is a row of packets, so several processes may append
// to one file: each packet is one write(2) at its end.
type traceFile struct {
	file     *fd.FD
	pid      int
	sequence uint64 // tells the packets of processes apart
	tracks   map[string]uint64
	heaps    map[uint32]uint64 // bytes in use
	sizes    map[uint64]uint64 // of what is allocated, by handle
	packet   []byte
	message  []byte
}

func newTraceFile(path, driver string) (*traceFile, error) {
	file, err := create(path, unix.O_APPEND)
	if err != nil {
		return nil, err
	}
	t := &traceFile{file: file, pid: os.Getpid(), tracks: map[string]uint64{}, heaps: map[uint32]uint64{},
		sizes: map[uint64]uint64{}}
	h := header(driver)
	t.sequence = t.hash(fmt.Sprint(h.PID, h.Began)) & 0xffffffff
	t.clocks()
	var process []byte
	process = appendNumber(process, processPID, uint64(h.PID))
	for _, arg := range h.Command {
		process = appendText(process, processArgs, arg)
	}
	process = appendText(process, processName, h.Program)
	t.describe(t.uuid(""), 0, "", trackProcess, process)
	return t, nil
}

// hash makes a number for this process of a text.
func (t *traceFile) hash(text string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", t.pid, t.sequence, text)
	return h.Sum64()
}

// clocks says how CLOCK_MONOTONIC, which events have, and CLOCK_BOOTTIME, which Perfetto prefers, belong together.
func (t *traceFile) clocks() {
	var boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) // fails for unknown clocks only
	var snapshot []byte
	for _, c := range [][2]uint64{{monotonic, uint64(journal.Now())}, {boottime, uint64(boot.Nano())}} {
		var clock []byte
		clock = appendNumber(clock, clockID, c[0])
		clock = appendNumber(clock, clockTime, c[1])
		snapshot = appendMessage(snapshot, clocksClock, clock)
	}
	t.send(journal.Now(), packetClocks, snapshot)
}

// uuid is the number of the process' track of a name; the process itself has the empty one.
func (t *traceFile) uuid(name string) uint64 { return t.hash("track " + name) }

// describe announces a track.
func (t *traceFile) describe(uuid, parent uint64, name string, kind uint64, what []byte) {
	m := appendNumber(nil, trackUUID, uuid)
	if name != "" {
		m = appendText(m, trackName, name)
	}
	if parent != 0 {
		m = appendNumber(m, trackParent, parent)
	}
	if kind != 0 {
		m = appendMessage(m, kind, what)
	}
	t.send(0, packetTrack, m)
}

// track returns the number of a track below the process, which it announces when it is new.
func (t *traceFile) track(name string, kind uint64, what []byte) uint64 {
	id, ok := t.tracks[name]
	if !ok {
		id = t.uuid(name)
		t.tracks[name] = id
		t.describe(id, t.uuid(""), name, kind, what)
	}
	return id
}

// send writes a packet; a time of 0 is none. Errors are dropped with it: the program goes on.
func (t *traceFile) send(time int64, kind uint64, message []byte) {
	p := t.message[:0]
	if time != 0 {
		p = appendNumber(p, packetTime, uint64(time))
		p = appendNumber(p, packetTimeClock, monotonic)
	}
	p = appendNumber(p, packetSequence, t.sequence)
	p = appendMessage(p, kind, message)
	t.message = p
	t.packet = appendMessage(t.packet[:0], tracePacket, p)
	for {
		if _, err := unix.Write(t.file.Int(), t.packet); err != unix.EINTR {
			return
		}
	}
}

// Write makes packets of an event.
func (t *traceFile) Write(e *journal.Event) {
	switch e.Kind {
	case journal.Allocate:
		t.sizes[e.Object.Handle] = e.Size
		t.heap(e, e.Size)
	case journal.Free:
		t.heap(e, -t.sizes[e.Object.Handle])
		delete(t.sizes, e.Object.Handle)
	case journal.Export, journal.Import:
		t.point(e, "shared", fmt.Sprintf("%s %s as %s", e.Kind, e.Object.Type, e.Handle), e.Payload)
	case journal.Execute:
		t.slice(e, t.queue(e), fmt.Sprintf("submission %d", e.Number), 0, nil)
	case journal.Signal:
		from := flow(e.Payload, e.Value)
		if e.Operation == journal.OfFence { // no queue waits for it
			from = 0
		}
		t.slice(e, t.queue(e), string(e.Kind), from, nil)
	case journal.Wait: // mostly begins before the signal: its end is where the arrow goes
		field := uint64(eventFlow)
		if e.Value == 0 { // a binary semaphore, which is signalled again
			field = eventLastFlow
		}
		t.slice(e, t.queue(e), string(e.Kind), 0, appendFlow(nil, field, flow(e.Payload, e.Value)))
	case journal.Register, journal.Deregister:
		t.point(e, "shared", fmt.Sprintf("%s %s", e.Kind, e.Object.Type), 0)
	case journal.Transfer:
		t.slice(e, t.fabric(e), e.Operation, 0, nil)
	case journal.Packet:
		t.event(e, e.Time, instant, t.fabric(e), e.Operation, 0)
	case journal.Present:
		t.point(e, "presented", fmt.Sprintf("frame %d", e.Number), 0)
	case journal.Finding:
		t.point(e, "findings", e.ID, 0)
	case journal.Fault:
		t.point(e, "faults", e.Command+e.Operation, 0)
	case journal.Error:
		t.point(e, "errors", e.Command, 0)
	}
}

// flow is the number of the arrow from the signal of a semaphore to what waits for it: in all processes the same, and
// none of those from an export to its imports, which have the payload's number. Binary semaphores have the value 0.
func flow(payload, value uint64) uint64 { return payload ^ max(value, 1)*0x9e3779b97f4a7c15 }

func (t *traceFile) queue(e *journal.Event) uint64 {
	name := e.Object.Name
	if name == "" {
		name = fmt.Sprintf("queue %#x", e.Object.Handle)
	}
	return t.track(name, 0, nil)
}

// fabric is the track of a transfer: its queue pair's, or that of the thread which does it.
func (t *traceFile) fabric(e *journal.Event) uint64 {
	name := fmt.Sprintf("fabric, thread %d", e.Thread)
	if e.Object.Type == "ibv_qp" {
		name = fmt.Sprintf("queue pair %#x", e.Object.Handle)
	}
	return t.track(name, 0, nil)
}

// heap counts what a heap has in use.
func (t *traceFile) heap(e *journal.Event, more uint64) {
	t.heaps[e.Heap] += more
	id := t.track(fmt.Sprintf("heap %d", e.Heap), trackCounter, appendNumber(nil, counterUnit, unitBytes))
	m := appendNumber(nil, eventType, counter)
	m = appendNumber(m, eventTrack, id)
	m = appendNumber(m, eventCounter, t.heaps[e.Heap])
	t.send(e.Time, packetEvent, m)
}

// point is something that takes no time.
func (t *traceFile) point(e *journal.Event, track, name string, flow uint64) {
	t.event(e, e.Time, instant, t.track(track, 0, nil), name, flow)
}

// slice is something that takes its time. An arrow goes from its begin, unless the flow from is 0; end has what its end
// has more, such as the flow of an arrow that goes there.
func (t *traceFile) slice(e *journal.Event, track uint64, name string, from uint64, end []byte) {
	t.event(e, e.Time, sliceBegin, track, name, from)
	m := appendNumber(nil, eventType, sliceEnd)
	t.send(e.Time+e.Duration, packetEvent, append(appendNumber(m, eventTrack, track), end...))
}

// appendFlow adds the number of a flow. Perfetto draws an arrow from each of its events to the next one in time, until
// one has it as eventLastFlow.
func appendFlow(m []byte, field, flow uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(m, field, wireFixed64), flow)
}

func (t *traceFile) event(e *journal.Event, time int64, kind, track uint64, name string, flow uint64) {
	m := appendNumber(nil, eventType, kind)
	m = appendNumber(m, eventTrack, track)
	m = appendText(m, eventCategory, string(e.Kind))
	m = appendText(m, eventName, name)
	if flow != 0 {
		m = appendFlow(m, eventFlow, flow)
	}
	for _, note := range []struct {
		name, text string
	}{{"object", e.Object.Name}, {"text", e.Text}, {"id", e.ID}} {
		if note.text != "" {
			m = appendMessage(m, eventAnnotation, appendText(appendText(nil, noteName, note.name), noteText, note.text))
		}
	}
	for _, note := range []struct {
		name   string
		number uint64
	}{{"handle", e.Object.Handle}, {"size", e.Size}, {"address", e.Address}, {"value", e.Value}} {
		if note.number != 0 {
			m = appendMessage(m, eventAnnotation, appendNumber(appendText(nil, noteName, note.name), noteNumber,
				note.number))
		}
	}
	t.send(time, packetEvent, m)
}

// The kinds of fields of Protocol Buffers (https://protobuf.dev/programming-guides/encoding). Their Go library isn't in
// the driver: while it is loaded, it opens and reads the application's executable.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func appendTag(b []byte, field, kind uint64) []byte { return binary.AppendUvarint(b, field<<3|kind) }

func appendNumber(b []byte, field, n uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), n)
}

func appendText(b []byte, field uint64, s string) []byte {
	return append(binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(s))), s...)
}

func appendMessage(b []byte, field uint64, m []byte) []byte {
	return append(binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(m))), m...)
}
