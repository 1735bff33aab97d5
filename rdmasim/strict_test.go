package rdmasim

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/journal"
)

// setStrict makes strictness what a variable says, for what this test makes after it.
func setStrict(t *testing.T, words string) {
	t.Helper()
	set := func(words string) {
		t.Setenv("FARSIDE_STRICT", words)
		settings, err := config.Read()
		if err != nil {
			t.Fatal(err)
		}
		finding.Begin(settings)
	}
	set(words)
	t.Cleanup(func() { set("") })
}

// found collects the ids of findings.
type found struct {
	mu   sync.Mutex
	ids  []string
	text []string
}

func (f *found) Write(e *journal.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Kind == journal.Finding {
		f.ids, f.text = append(f.ids, e.ID), append(f.text, e.Text)
	}
}

// take returns what was found since the last time.
func (f *found) take() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids, f.ids = f.ids, nil
	return ids
}

func lookForFindings(t *testing.T) *found {
	t.Setenv("FARSIDE_LOG", "off")
	f := &found{}
	journal.Attach(f)
	t.Cleanup(func() { journal.Detach(f) })
	return f
}

// strictRegion is a region whose owner asks for strictness, and its payload.
func strictRegion(t *testing.T, holds bool) (*Owner, *Region, []byte) {
	t.Helper()
	setStrict(t, "rdma")
	o := newOwner(t)
	fd := payload(t, 8192)
	r, err := o.Register(fd, 0, 8192, Attributes{Access: AccessAll, Name: "strict", Holds: holds})
	if err != nil {
		t.Fatal(err)
	}
	return o, r, mapped(t, fd, 8192)
}

// TestStrictVisibility: what a peer writes is in the payload when its initiator knows of the end and somebody
// synchronizes, or reads, or after a while; and at once where nothing is held. The peer is another process, whose own
// settings ask for nothing, or one on another host.
func TestStrictVisibility(t *testing.T) {
	o, r, data := strictRegion(t, true)
	child := start(t, "peer", func(c *exec.Cmd) {
		c.Env = slices.DeleteFunc(c.Env, func(s string) bool { return strings.HasPrefix(s, "FARSIDE_STRICT=") })
	})
	far := newFarPeer(t, newBridge(t, ServeOptions{Owner: o}))
	zeros := make([]byte, 100)
	for name, write := range map[string]func() error{
		"another process": func() error {
			if s := child.say("write %d 100", r.Address()); s != "ok" {
				t.Fatal(s)
			}
			return nil
		},
		"another host": func() error { return far.Write(r.Address(), zeros) },
	} {
		for how, show := range map[string]func(){
			"synchronize": o.local.Synchronize,
			"a read":      func() { wantErr(t, far.Read(r.Address()+4096, make([]byte, 1)), nil) },
			"an atomic": func() {
				_, err := far.FetchAdd64(r.Address()+4096, 0)
				wantErr(t, err, nil)
			},
			"time": func() {
				for end := time.Now().Add(20 * time.Second); !bytes.Equal(data[:100], zeros) && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
			},
		} {
			for i := range 100 {
				data[i] = pattern(i)
			}
			began := time.Now()
			if err := write(); err != nil {
				t.Fatal(err)
			}
			// It shows after a quarter of a second, which a machine with much else to do may take for the write.
			if (data[50] != pattern(50) || data[0] != pattern(0)) && time.Since(began) < 200*time.Millisecond {
				t.Errorf("%s: the write is visible at once", name)
			}
			if show(); !bytes.Equal(data[:100], zeros) || data[100] != pattern(100) {
				t.Errorf("%s: after %s the payload has % x", name, how, data[:104])
			}
		}
	}
	if n := r.Counters(); n.Writes != 8 || n.BytesWritten != 800 || n.Reads != 2 || n.Atomics != 2 {
		t.Errorf("counted %+v", n)
	}
	_, free, shared := strictRegion(t, false)
	if err := newPeer(t).Write(free.Address(), zeros); err != nil || !bytes.Equal(shared[:100], zeros) {
		t.Errorf("a region that holds nothing: %v, % x", err, shared[:100])
	}
}

// TestStrictKnown: a write whose completion nobody has polled stays where it is, and so do those behind which it was
// posted in its queue pair; a large one arrives in pieces and shows as a whole.
func TestStrictKnown(t *testing.T) {
	setStrict(t, "rdma")
	o := newOwner(t)
	const size = 3 << 20
	fd := payload(t, size)
	r, err := o.Register(fd, 0, size, Attributes{Access: AccessAll, Holds: true})
	if err != nil {
		t.Fatal(err)
	}
	data, p := mapped(t, fd, size), newPeer(t)
	q := newQueuePair(t, p, 16)
	zeros := make([]byte, size)
	post(t, q, Work{Opcode: OpWrite, RemoteAddress: r.Address(), Local: zeros[:size-1]},
		Work{ID: 2, Opcode: OpWrite, RemoteAddress: r.Address() + size - 1, Local: zeros[:1], Flags: FlagSignalled})
	for q.isBusy() {
		time.Sleep(time.Millisecond)
	}
	if o.local.Synchronize(); data[1] != pattern(1) || data[size-1] != pattern(size-1) {
		t.Error("a write is visible that its initiator does not know to have ended")
	}
	poll(t, q, 1)
	if o.local.Synchronize(); !bytes.Equal(data, zeros) {
		t.Error("writes that are known to have ended are not visible")
	}
}

// isBusy says whether work is posted that has not ended.
func (q *QueuePair) isBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// TestStrictFindings: what strictness finds between queue pairs, and in one; and what looks like it and is right.
func TestStrictFindings(t *testing.T) {
	f := lookForFindings(t)
	const w, rd, add = OpWrite, OpRead, OpFetchAdd
	type do struct {
		pair int // queue pair, of which all is polled where there is no opcode
		op   Opcode
		at   uint64
		n    int
		fill byte
		flag WorkFlags
	}
	for name, c := range map[string]struct {
		do   []do
		want []string
	}{
		"two writers":       {[]do{{0, w, 0, 64, 1, 0}, {1, w, 32, 64, 2, 0}}, []string{"unordered-peers"}},
		"the same bytes":    {[]do{{0, w, 0, 64, 1, 0}, {1, w, 32, 64, 1, 0}}, nil},
		"beside each other": {[]do{{0, w, 0, 64, 1, 0}, {1, w, 64, 64, 2, 0}}, nil},
		"one after another": {[]do{{0, w, 0, 64, 1, 0}, {pair: 0}, {1, w, 32, 64, 2, 0}}, nil},
		"in one queue pair": {[]do{{0, w, 0, 64, 1, 0}, {0, w, 32, 64, 2, 0}}, nil},
		"read and write":    {[]do{{0, rd, 0, 64, 0, 0}, {1, w, 32, 64, 2, 0}}, []string{"torn-read"}},
		"a flag":            {[]do{{0, rd, 8, 8, 0, 0}, {1, w, 8, 8, 2, 0}}, nil},
		"atomics":           {[]do{{0, add, 8, 8, 0, 0}, {1, add, 8, 8, 0, 0}}, nil},
		"atomic and write":  {[]do{{0, add, 8, 8, 0, 0}, {1, w, 0, 64, 2, 0}}, []string{"unordered-peers"}},
		"readers":           {[]do{{0, rd, 0, 64, 0, 0}, {1, rd, 0, 64, 0, 0}}, nil},
		"overtaken":         {[]do{{0, rd, 0, 64, 0, 0}, {0, w, 32, 64, 2, 0}}, []string{"missing-fence"}},
		"fenced":            {[]do{{0, rd, 0, 64, 0, 0}, {0, w, 32, 64, 2, FlagFence}}, nil},
		"behind the fence":  {[]do{{0, rd, 0, 64, 0, 0}, {0, w, 256, 8, 2, FlagFence}, {0, w, 32, 64, 2, 0}}, nil},
		"polled":            {[]do{{0, rd, 0, 64, 0, 0}, {pair: 0}, {0, w, 32, 64, 2, 0}}, nil},
		"write, then read":  {[]do{{0, w, 0, 64, 1, 0}, {0, rd, 0, 64, 2, 0}}, nil},
		"overtaken atomic":  {[]do{{0, add, 0, 8, 0, 0}, {0, w, 0, 64, 2, 0}}, []string{"missing-fence"}},
		"past the end":      {[]do{{0, rd, 8000, 512, 0, 0}}, []string{"out-of-range"}},
		"misaligned":        {[]do{{0, add, 4, 8, 0, 0}}, []string{"misaligned-atomic"}},
		"reused without end": {[]do{{0, w, 0, 64, 1, 0}, {1, w, 512, 64, 2, 0}, {0, w, 512, 64, 3, 0}},
			[]string{"unordered-peers"}},
	} {
		run := func(t *testing.T, open func(*testing.T, *Owner) *Peer) {
			o, r, _ := strictRegion(t, true)
			p := open(t, o)
			pairs := []*QueuePair{newQueuePair(t, p, 16), newQueuePair(t, newPeer(t), 16)}
			posted := make([]int, 2)
			all := func(i int) {
				poll(t, pairs[i], posted[i])
				posted[i] = 0
			}
			if err := p.Read(r.Address(), make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			for _, d := range c.do {
				if d.op == 0 {
					all(d.pair)
					continue
				}
				post(t, pairs[d.pair], Work{Opcode: d.op, RemoteAddress: r.Address() + d.at, Flags: d.flag | FlagSignalled,
					Local: bytes.Repeat([]byte{d.fill}, d.n)})
				posted[d.pair]++
			}
			all(0)
			all(1)
			var got []string
			for _, id := range f.take() {
				got = append(got, strings.TrimPrefix(id, "FARSIDE-rdma-"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		}
		for where, open := range strictPeers {
			t.Run(name+"/"+where, func(t *testing.T) { run(t, open) })
		}
	}
}

// TestStrictSeen: whoever sees what was written later in a queue pair may use what was written before, though the
// writer has polled nothing; a write with a fence tells the same of a read.
func TestStrictSeen(t *testing.T) {
	f := lookForFindings(t)
	o, r, data := strictRegion(t, true)
	writer, other := newPeer(t), newPeer(t)
	q, flag := newQueuePair(t, writer, 16), make([]byte, 8)
	for name, first := range map[string]Work{
		"write": {Opcode: OpWrite, RemoteAddress: r.Address(), Local: bytes.Repeat([]byte{1}, 64)},
		"read":  {Opcode: OpRead, RemoteAddress: r.Address(), Local: make([]byte, 64)},
	} {
		flag[0]++
		post(t, q, first, Work{Opcode: OpWrite, RemoteAddress: r.Address() + 512, Local: bytes.Clone(flag), Flags: FlagFence})
		for end := time.Now().Add(10 * time.Second); ; {
			seen := make([]byte, 8)
			if err := other.Read(r.Address()+512, seen); err != nil || time.Now().After(end) {
				t.Fatal(err, "or the flag never comes")
			}
			if bytes.Equal(seen, flag) {
				break
			}
		}
		if c := r.Conflict(0, 64, true); c != "" {
			t.Errorf("%s: a device conflicts with %s", name, c)
		}
		if err := other.Write(r.Address(), bytes.Repeat([]byte{2}, 64)); err != nil {
			t.Fatal(err)
		}
		if o.local.Synchronize(); data[0] != 2 {
			t.Errorf("%s: the payload has %d", name, data[0])
		}
		q.Reset()
	}
	if ids := f.take(); ids != nil {
		t.Errorf("findings %v: %v", ids, f.text)
	}
}

// TestStrictConflict: what a device does is held against what peers have under way, on this host and on others.
func TestStrictConflict(t *testing.T) {
	for name, open := range strictPeers {
		t.Run(name, func(t *testing.T) { checkConflicts(t, open) })
	}
}

// strictPeers make a peer of an owner: on this host, and on another one.
var strictPeers = map[string]func(t *testing.T, o *Owner) *Peer{
	"near": func(t *testing.T, _ *Owner) *Peer { return newPeer(t) },
	"far":  func(t *testing.T, o *Owner) *Peer { return newFarPeer(t, newBridge(t, ServeOptions{Owner: o})) },
}

func checkConflicts(t *testing.T, open func(*testing.T, *Owner) *Peer) {
	o, r, _ := strictRegion(t, true)
	p := open(t, o)
	q := newQueuePair(t, p, 16)
	look := func(what, reads, writes string) {
		t.Helper()
		for _, c := range []struct{ got, want string }{{r.Conflict(0, 4096, false), reads},
			{r.Conflict(0, 4096, true), writes}, {r.Conflict(4096, 4096, true), ""}} {
			if (c.want == "") != (c.got == "") || !strings.HasPrefix(c.got, c.want) {
				t.Errorf("%s: %q, want %q", what, c.got, c.want)
			}
		}
	}
	look("nothing", "", "")
	post(t, q, Work{Opcode: OpWrite, RemoteAddress: r.Address() + 100, Local: make([]byte, 100), Flags: FlagSignalled})
	look("posted", "the unfinished write of bytes [100, 200) by a peer in process", "the unfinished write")
	poll(t, q, 1)
	look("polled", "the completed write of bytes [100, 200)", "the completed write")
	o.local.Synchronize()
	look("synchronized", "", "")
	post(t, q, Work{Opcode: OpRead, RemoteAddress: r.Address() + 100, Local: make([]byte, 100), Flags: FlagSignalled})
	look("a read", "", "the unfinished read")
	poll(t, q, 1)
	look("a polled read", "", "")
	post(t, q, Work{Opcode: OpWrite, RemoteAddress: r.Address() + 100, Local: make([]byte, 100), Flags: FlagSignalled})
	p.Close()
	for end := time.Now().Add(10 * time.Second); r.Conflict(0, 4096, true) != "" && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // until the bridge sees that it has gone
	}
	o.local.Synchronize()
	look("a closed peer", "", "")
}

// TestStrictEnds: memory that is freed under work, failures that nobody polls, and a peer that dies with a write that
// nobody has seen.
func TestStrictEnds(t *testing.T) {
	f := lookForFindings(t)
	_, r, _ := strictRegion(t, true)
	p := newPeer(t)
	q := newQueuePair(t, p, 16)
	write := Work{Opcode: OpWrite, RemoteAddress: r.Address(), Local: make([]byte, 64), Flags: FlagSignalled}
	post(t, q, write)
	r.Close()
	if ids := f.take(); !slices.Equal(ids, []string{"FARSIDE-rdma-freed-under-way"}) {
		t.Errorf("findings %v", ids)
	}
	for q.isBusy() {
		time.Sleep(time.Millisecond)
	}
	p.Close()
	if ids := f.take(); !slices.Equal(ids, []string{"FARSIDE-rdma-ignored-failure"}) {
		t.Errorf("findings %v", ids)
	}

	o, r, data := strictRegion(t, true)
	child := start(t, "peer", nil)
	if s := child.say("write %d 100", r.Address()); s != "ok" {
		t.Fatal(s)
	}
	child.kill()
	for end := time.Now().Add(10 * time.Second); r.Conflict(0, 100, false) != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what a dead peer wrote stays hidden")
		}
	}
	if o.local.Synchronize(); data[0] != 0 {
		t.Error("what a peer wrote before it died is lost")
	}
	if r.Close(); f.take() != nil {
		t.Errorf("findings of a dead peer: %v", f.text)
	}
}
