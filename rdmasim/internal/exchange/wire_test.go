package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testRegion = Description{Address: 1 << 62, Length: 4096, Key: 99, Access: 7, PID: 11, UID: 12,
	DeviceUUID: [16]byte{1, 2, 3}, Name: "buffer"}

const unknown = Outcome(3)

var messages = []*message{
	{kind: kindHello},
	{kind: kindHello, outcome: helloFull},
	{kind: kindResolve, tag: 7, question: Question{Address: 1 << 62, Key: 3, Access: 5}},
	{kind: kindReply, tag: 7, description: testRegion},
	{kind: kindReply, tag: 8, outcome: unknown},
	{kind: kindRead, tag: 9, place: Place{1<<62 + 8, 99}, size: MaxData},
	{kind: kindWrite, tag: 10, place: Place{1<<62 + 8, 99}, size: 1},
	{kind: kindAtomic, tag: 11, atomic: Atomic{Place: Place{1 << 62, 99}, Opcode: 5, Width: 8, Operand: 3, Compare: 4}},
	{kind: kindData, tag: 9, size: 100},
	{kind: kindData, tag: 9, outcome: unknown},
	{kind: kindDone, tag: 11, old: 1 << 63},
	{kind: kindDone, tag: 11, outcome: unknown},
	{kind: kindAnnounce, tag: 12, place: Place{1 << 62, 99}, operation: Operation{1, 2, 3, 4, true}},
	{kind: kindKnown, tag: 12, place: Place{1 << 62, 99}, operation: Operation{Flow: 1, Number: 9}},
	{kind: kindReadOf, tag: 9, place: Place{1<<62 + 8, 99}, size: MaxData, operation: Operation{1, 2, 3, 1, false}},
	{kind: kindWriteOf, tag: 9, place: Place{1<<62 + 8, 99}, size: 1, operation: Operation{1, 2, 3, 2, false}},
	{kind: kindAtomicOf, tag: 11, atomic: Atomic{Place: Place{1 << 62, 99}, Opcode: 5, Width: 8},
		operation: Operation{1, 2, 8, 5, false}},
}

func TestWire(t *testing.T) {
	var stream bytes.Buffer
	for _, m := range messages {
		stream.Write(m.append(nil))
	}
	in := bufio.NewReader(&stream)
	for _, m := range messages {
		got, err := receive(in)
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(message{})); err != nil || diff != "" {
			t.Errorf("a message changes: %v %s", err, diff)
		}
	}
	for _, m := range messages {
		b := m.append(nil)
		for n := range b {
			if _, err := receive(bufio.NewReader(bytes.NewReader(b[:n]))); err == nil {
				t.Errorf("%d of the %d bytes of kind %d are a message", n, len(b), m.kind)
			}
		}
		b = append(b, 0)
		b[2]++
		if _, err := receive(bufio.NewReader(bytes.NewReader(b))); !errors.Is(err, ErrProtocol) {
			t.Errorf("kind %d with a byte more: %v", m.kind, err)
		}
	}
}

func TestImpossibleMessages(t *testing.T) {
	for name, m := range map[string]*message{
		"no kind":                 {},
		"an unknown kind":         {kind: kindAtomicOf + 1},
		"too much to read":        {kind: kindRead, size: MaxData + 1},
		"too much to write":       {kind: kindWrite, size: MaxData + 1},
		"too much data":           {kind: kindData, size: 1 << 31},
		"data with an error":      {kind: kindData, outcome: unknown, size: 1},
		"an empty region":         {kind: kindReply, description: Description{Address: 1}},
		"a region past the end":   {kind: kindReply, description: Description{Address: 1 << 63, Length: 1<<63 + 1}},
		"a name that isn't UTF-8": {kind: kindReply, description: Description{Length: 1, Name: "\xff"}},
	} {
		if got, err := receive(bufio.NewReader(bytes.NewReader(m.append(nil)))); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzReceive: whatever comes is refused, or is a message that is sent in the same bytes.
func FuzzReceive(f *testing.F) {
	for _, m := range messages {
		f.Add(m.append(nil))
	}
	f.Add([]byte{2, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		in := bufio.NewReader(r)
		m, err := receive(in)
		if err != nil {
			return
		}
		if read := b[:len(b)-r.Len()-in.Buffered()]; !bytes.Equal(m.append(nil), read) {
			t.Errorf("%x is sent as %x", read, m.append(nil))
		}
	})
}
