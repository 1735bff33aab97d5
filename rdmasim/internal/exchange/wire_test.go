package exchange

import (
	"bytes"
	"reflect"
	"testing"
)

var messages = []*message{
	{kind: kindHello, target: testTarget},
	{kind: kindResolve, tag: 7, question: Question{Address: 1 << 62, Key: 3, Access: 5}},
	{kind: kindReply, tag: 7, description: testRegion},
	{kind: kindReply, tag: 8, outcome: unknown},
	{kind: kindRevoke, number: 9, outcome: unknown},
	{kind: kindAcknowledge, number: 9},
}

func TestWire(t *testing.T) {
	var stream bytes.Buffer
	for _, m := range messages {
		stream.Write(m.encode())
	}
	for _, m := range messages {
		got, err := receive(&stream)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v becomes %+v, %v", m, got, err)
		}
	}
	for _, m := range messages {
		b := m.encode()
		for n := range b {
			if _, err := receive(bytes.NewReader(b[:n])); err == nil {
				t.Errorf("%d of the %d bytes of kind %d are a message", n, len(b), m.kind)
			}
		}
		if _, err := decode(m.kind, append(b[headSize:], 0)); err == nil {
			t.Errorf("kind %d with a byte more is a message", m.kind)
		}
	}
}

// FuzzReceive: whatever comes is refused, or is a message that is sent in the same bytes.
func FuzzReceive(f *testing.F) {
	for _, m := range messages {
		f.Add(m.encode())
	}
	f.Add([]byte{2, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		m, err := receive(r)
		if err != nil {
			return
		}
		if read := b[:len(b)-r.Len()]; !bytes.Equal(m.encode(), read) {
			t.Errorf("%x is sent as %x", read, m.encode())
		}
	})
}
