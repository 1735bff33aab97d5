package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/finding"
	"farside/internal/journal"
	"farside/internal/memcopy"
	"farside/rdmasim/internal/verbs"
)

// Strictness "rdma". An owner with it is told of each operation on its regions: that it is under way, that it is
// performed, and that its initiator knows that it has ended. A peer asks for that as the region says, whatever its own
// settings are.
//
//	announced                operations of other flows on the same bytes are unordered with it
//	performed                a write has arrived, and waits where devices don't see it; a read or an atomic makes
//	                         visible what has arrived before
//	known to the initiator   the write becomes visible at the next Synchronize
//
// A write that nobody synchronizes becomes visible after mostHidden: adapters don't keep it for ever either.
//
// Others may know of the end of an operation in other ways. They may have seen what was written after it in its queue
// pair: whoever looks, by a read, an atomic or a Synchronize, may have seen all writes that have arrived; and who sees
// a write with a fence knows that the reads before it are done. Then the operation conflicts with nothing any more.

const (
	// mostHidden is how long a write that has arrived stays invisible without anything that orders it.
	mostHidden = 250 * time.Millisecond
	// mostHeld bounds the bytes that wait in a region. Beyond it writes become visible as they arrive.
	mostHeld = 64 << 20
	// mostTransfers bounds the operations of a region that are remembered.
	mostTransfers = 1 << 16
)

// traffic is what is under way in a strict region. Under owner.mu.
type traffic struct {
	base    uint64      // of the region
	holds   bool        // writes wait for Synchronize
	mapping []byte      // whole pages of the payload
	data    []byte      // the region in them
	list    []*transfer // announced, and not known to their initiators to have ended
	hidden  []*transfer // writes that have arrived and are not visible, in the order in which they arrived
	held    uint64      // bytes in hidden
	timed   bool        // showOld is to come
}

// transfer is an operation.
type transfer struct {
	client       *client // nil for what an adapter of the owner's process does
	flow, number uint64
	opcode       verbs.Opcode
	begin, end   uint64      // offsets in the region
	against      []*transfer // writes to the same bytes in other flows, that were under way at the same time
	pieces       []piece     // of a write
	missing      uint64      // bytes of a write that have not come
	fence        bool
	arrived      time.Time // zero until then
	look         uint64    // owner.looks then
	visible      bool
	known        bool
	done         bool // a read or an atomic, before work with a fence that was performed
}

type piece struct {
	at   uint64 // offset in the region
	data []byte
}

// watchTraffic makes a region strict. Under owner.mu.
func (r *Region) watchTraffic(holds bool) error {
	prot := unix.PROT_READ
	if r.attributes.Access&verbs.AccessWrite != 0 {
		prot |= unix.PROT_WRITE
	}
	in := r.offset & (verbs.PageSize - 1)
	mapping, err := unix.Mmap(r.fd, int64(r.offset-in), int(in+r.length), prot, unix.MAP_SHARED)
	if err != nil {
		return verbs.OSError("map a strict region", err)
	}
	r.traffic = &traffic{base: r.base, holds: holds, mapping: mapping, data: mapping[in : in+r.length]}
	r.owner.strict = append(r.owner.strict, r)
	return nil
}

// endTraffic forgets what is under way, and notes it. Under owner.mu.
func (r *Region) endTraffic() {
	t := r.traffic
	if t == nil {
		return
	}
	t.show(func(*transfer) bool { return true })
	for _, x := range t.list {
		if !r.owner.over(x) {
			r.found(finding.FreedUnderWay, x, "the memory is freed while %s is under way", r.describes(x))
		}
	}
	r.owner.strict = slices.DeleteFunc(r.owner.strict, func(o *Region) bool { return o == r })
	_ = unix.Munmap(t.mapping)
	r.traffic = nil
}

// over says whether others than its initiator may know that an operation has ended.
func (o *Owner) over(x *transfer) bool { return x.done || !x.arrived.IsZero() && o.looks > x.look }

// found notes a finding for tell.
func (r *Region) found(id finding.ID, about *transfer, format string, args ...any) {
	r.owner.findings = append(r.owner.findings, &finding.Finding{ID: id, Place: about.begin,
		Text:    fmt.Sprintf(format, args...),
		Objects: []journal.Object{{Type: "region", Handle: r.base, Name: r.attributes.Name}}})
}

// describes names an operation with its range and its peer.
func (r *Region) describes(x *transfer) string {
	if x.client == nil {
		return fmt.Sprintf("%v of bytes [%d, %d) that came by queue pair %#x", x.opcode, x.begin, x.end, x.flow)
	}
	return fmt.Sprintf("%v of bytes [%d, %d) by a peer in process %d, queue pair %d", x.opcode, x.begin, x.end,
		x.client.who.Pid, x.flow)
}

// transfers answers announce, perform and known. passed is a descriptor with the bytes of a write.
func (c *client) transfers(q request, passed int) message {
	reply := message{kind: kindReply, tag: q.tag, status: wireBadRequest}
	p := piece{}
	if q.kind == kindPerform && q.opcode == verbs.OpWrite {
		if p.data = readPiece(passed, q.length); p.data == nil {
			return reply
		}
	}
	o := c.owner
	o.mu.Lock()
	defer o.tell() // after the unlock
	defer o.mu.Unlock()
	if q.kind == kindKnown {
		for _, r := range o.strict {
			r.traffic.know(func(x *transfer) bool { return x.client == c && x.flow == q.flow && x.number <= q.number })
		}
		reply.status = wireOK
		return reply
	}
	r, status := o.find(q.address)
	at := uint64(0)
	if status == wireOK {
		at = q.address - r.base
	}
	switch {
	case status != wireOK:
		reply.status = status
	case r.key != q.key || r.traffic == nil || q.opcode == 0 || q.opcode > verbs.OpFetchXor || c.ledger == nil:
	case q.length > r.length-at || r.attributes.Access&q.opcode.Need() == 0:
		reply.status = wireAccess
	case q.kind == kindAnnounce:
		r.announce(&transfer{client: c, flow: q.flow, number: q.number, opcode: q.opcode, fence: q.fence,
			begin: at, end: at + q.length, missing: q.length})
		reply.status = wireOK
	default:
		p.at = at
		reply.status = r.perform(c, &q, p)
	}
	return reply
}

// readPiece takes the bytes of a write, nil if there are fewer, or too many.
func readPiece(fd int, n uint64) []byte {
	if n > mostPiece || fd < 0 {
		return nil
	}
	b := make([]byte, n, n+1)
	for at := 0; at < len(b); {
		k, err := unix.Pread(fd, b[at:], int64(at))
		if err != nil && err != unix.EINTR || err == nil && k == 0 {
			return nil
		}
		at += max(k, 0)
	}
	return b
}

// announce adds an operation and holds it against all that are under way. Under owner.mu.
func (r *Region) announce(x *transfer) {
	t := r.traffic
	for _, y := range t.list {
		if y.client == x.client && y.flow == x.flow || y.begin >= x.end || x.begin >= y.end || r.owner.over(y) {
			continue
		}
		switch writes := x.opcode == verbs.OpWrite; {
		case writes && y.opcode == verbs.OpWrite:
			x.against, y.against = append(x.against, y), append(y.against, x)
		case !writes && y.opcode != verbs.OpWrite, sameWord(x, y):
		case x.opcode == verbs.OpRead || y.opcode == verbs.OpRead:
			r.unordered(finding.TornRead, x, y)
		default:
			r.unordered(finding.UnorderedPeers, x, y)
		}
	}
	if len(t.list) >= mostTransfers {
		t.list = t.list[1:]
	}
	t.list = append(t.list, x)
}

func (r *Region) unordered(id finding.ID, x, y *transfer) {
	r.found(id, x, "%s and %s are under way at the same time", r.describes(y), r.describes(x))
}

// sameWord says whether one of two operations is a read, and both stay within the same aligned word: a peer that waits
// for another one's flag.
func sameWord(x, y *transfer) bool {
	return (x.opcode == verbs.OpRead || y.opcode == verbs.OpRead) && max(x.end, y.end)-1 <= min(x.begin, y.begin)|7
}

// perform is what an announced operation does at the owner. Under owner.mu.
func (r *Region) perform(c *client, q *request, p piece) wireStatus {
	t := r.traffic
	i := slices.IndexFunc(t.list, func(x *transfer) bool {
		return x.client == c && x.flow == q.flow && x.number == q.number
	})
	switch {
	case i < 0 && q.opcode == verbs.OpWrite: // it is known to have ended, or there are too many
		t.put(p)
		return wireOK
	case i < 0:
		return wireOK
	case t.list[i].opcode != q.opcode || p.at < t.list[i].begin || p.at+q.length > t.list[i].end:
		return wireAccess // a bridge's peer may say so; the bridge is to stay
	}
	x := t.list[i]
	if x.fence {
		c.fence(x)
	}
	if q.opcode != verbs.OpWrite {
		r.owner.look()
		return wireOK
	}
	if !x.arrived.IsZero() || x.missing < q.length {
		return wireAccess
	}
	x.pieces = append(x.pieces, p)
	if x.missing -= q.length; x.missing > 0 {
		return wireOK
	}
	r.arrive(x)
	return wireOK
}

// arrive hides a write of which all pieces have come. Under owner.mu.
func (r *Region) arrive(x *transfer) {
	t := r.traffic
	for _, y := range x.against {
		if !y.arrived.IsZero() && differ(x, y) {
			r.unordered(finding.UnorderedPeers, x, y)
		}
	}
	x.arrived, x.look = time.Now(), r.owner.looks
	t.hidden = append(t.hidden, x)
	if t.held += x.end - x.begin; !t.holds || t.held > mostHeld {
		t.show(func(*transfer) bool { return true })
	} else if !t.timed {
		t.timed = true
		time.AfterFunc(mostHidden, func() { r.owner.showOld(r) })
	}
}

// look makes visible all that has arrived: a read or an atomic comes behind it. Under o.mu.
func (o *Owner) look() {
	o.looks++
	for _, r := range o.strict { // the adapter is one for all of them
		r.traffic.show(func(*transfer) bool { return true })
	}
}

// fence ends the reads and atomics before work with a fence. Under owner.mu.
func (c *client) fence(x *transfer) {
	for _, r := range c.owner.strict {
		for _, y := range r.traffic.list {
			if y.client == c && y.flow == x.flow && y.number < x.number && y.opcode != verbs.OpWrite {
				y.done = true
			}
		}
	}
}

// differ says whether two writes have put different bytes where both write.
func differ(x, y *transfer) bool {
	for _, a := range x.pieces {
		for _, b := range y.pieces {
			from, to := max(a.at, b.at), min(a.at+uint64(len(a.data)), b.at+uint64(len(b.data)))
			if from < to && !bytes.Equal(a.data[from-a.at:to-a.at], b.data[from-b.at:to-b.at]) {
				return true
			}
		}
	}
	return false
}

// know notes that initiators know of the end of their operations.
func (t *traffic) know(which func(*transfer) bool) {
	t.list = slices.DeleteFunc(t.list, func(x *transfer) bool {
		x.known = x.known || which(x)
		return x.known
	})
}

// show makes writes visible, with all that were written before in their flows.
func (t *traffic) show(which func(*transfer) bool) {
	if len(t.hidden) == 0 {
		return
	}
	type flow struct {
		client *client
		flow   uint64
	}
	through := map[flow]uint64{}
	for _, x := range t.hidden {
		if which(x) {
			f := flow{x.client, x.flow}
			through[f] = max(through[f], x.number)
		}
	}
	kept := t.hidden[:0]
	for _, x := range t.hidden {
		if x.number > through[flow{x.client, x.flow}] {
			kept = append(kept, x)
			continue
		}
		for _, p := range x.pieces {
			t.put(p)
		}
		x.visible = true
		t.held -= x.end - x.begin
	}
	clear(t.hidden[len(kept):])
	t.hidden = kept
}

// put writes to the payload; an aligned word of four or eight bytes in one step.
func (t *traffic) put(p piece) {
	switch n := len(p.data); {
	case n == 8 && (t.base+p.at)&7 == 0:
		word(t.data, p.at).Store(binary.NativeEndian.Uint64(p.data))
	case n == 4 && (t.base+p.at)&3 == 0:
		half(t.data, p.at).Store(binary.NativeEndian.Uint32(p.data))
	default:
		memcopy.Copy(t.data[p.at:p.at+uint64(n)], p.data)
	}
}

// showOld makes visible what has been hidden long enough.
func (o *Owner) showOld(r *Region) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := r.traffic
	if t == nil {
		return
	}
	t.show(func(x *transfer) bool { return time.Since(x.arrived) >= mostHidden })
	if t.timed = len(t.hidden) > 0; t.timed {
		time.AfterFunc(mostHidden-time.Since(t.hidden[0].arrived), func() { o.showOld(r) })
	}
}

// Synchronize makes visible to devices what peers have written and know to have ended.
func (o *Owner) Synchronize() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looks++
	for _, r := range o.strict {
		r.traffic.show(func(x *transfer) bool { return x.known })
	}
}

// leaveTraffic ends what a peer that is gone had under way. What has arrived stays. Under owner.mu.
func (c *client) leaveTraffic() {
	for _, r := range c.owner.strict {
		r.traffic.show(func(x *transfer) bool { return x.client == c })
		r.traffic.know(func(x *transfer) bool { return x.client == c })
	}
}

// tell tells what has been found, without a lock.
func (o *Owner) tell() {
	o.mu.Lock()
	list := o.findings
	o.findings = nil
	o.mu.Unlock()
	for _, f := range list {
		finding.Tell(f)
	}
}

// Conflict is an operation that nothing orders with what a device does, in words; "" if there is none. A device that
// reads conflicts with writes that it doesn't see, one that writes with all that is under way.
func (r *Region) Conflict(offset, length uint64, writes bool) string {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	t := r.traffic
	if t == nil {
		return ""
	}
	for _, list := range [][]*transfer{t.hidden, t.list} {
		for _, x := range list {
			overlaps := x.begin < offset+length && offset < x.end
			if overlaps && !x.visible && !x.done && (writes || x.opcode == verbs.OpWrite) {
				return x.state() + r.describes(x)
			}
		}
	}
	return ""
}

// state says how far an operation is.
func (x *transfer) state() string {
	switch {
	case x.known:
		return "the completed "
	case x.arrived.IsZero():
		return "the unfinished "
	}
	return "the "
}
