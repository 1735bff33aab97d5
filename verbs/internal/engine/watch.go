package engine

import (
	"fmt"
	"time"

	settings "farside/internal/config"
	"farside/internal/fault"
	"farside/internal/finding"
	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/verbs/internal/packet"
)

// watch is what those who look at a send know of it: the journal, faults on command. Sends that nobody looks at have
// none.
type watch struct {
	posted int64         // journal.Now
	asked  bool          // faults have been
	due    time.Duration // before which it doesn't begin
	effect fault.Effect
	sent   []byte // what its local memory held when it was posted, with Options.Late; nil if nobody looks at that

	announced bool // among the device's announcements
}

// watched says whether somebody looks at what is posted now.
func (d *Device) watched() bool { return d.options.Faults != nil || d.options.Late || journal.On() }

// operationOf is what the journal calls a send, and what faults call it; both are empty for what stays in the adapter.
func operationOf(o ibv.WROpcode) (operation, target string) {
	switch o {
	case ibv.WR_SEND, ibv.WR_SEND_WITH_IMM, ibv.WR_SEND_WITH_INV:
		return "send", "rdma.send"
	case ibv.WR_RDMA_WRITE:
		return "write", "rdma.write"
	case ibv.WR_RDMA_WRITE_WITH_IMM:
		return "write with immediate", "rdma.write"
	case ibv.WR_RDMA_READ:
		return "read", "rdma.read"
	case ibv.WR_ATOMIC_CMP_AND_SWP:
		return "compare-swap", "rdma.atomic"
	case ibv.WR_ATOMIC_FETCH_AND_ADD:
		return "fetch-add", "rdma.atomic"
	}
	return "", ""
}

// named is the queue pair for the journal: its number, and where its peer is.
func (q *QP) named() journal.Object {
	name := fmt.Sprintf("%s, queue pair %#x", q.device.options.Name, q.number)
	if q.route.remote.IsValid() && q.kind != ibv.QPT_UD {
		name += fmt.Sprintf(" with %#x at %v", q.attr.DestQPNum, q.route.remote)
	}
	return journal.Object{Type: "ibv_qp", Handle: uint64(q.number), Name: name}
}

// tellSend tells the journal of a send that has ended. The time of one behind others begins when those have ended, so
// that those of a queue pair don't overlap. Under q.mu.
func (q *QP) tellSend(w *sendWQE, status ibv.WCStatus) {
	operation, _ := operationOf(w.wr.Opcode)
	if !journal.On() || operation == "" {
		return
	}
	now := journal.Now()
	e := journal.Event{Kind: journal.Transfer, Operation: operation, Object: q.named(), Size: w.length,
		Time: max(w.watch.posted, q.told), Address: w.wr.RemoteAddress, Value: w.wr.ID, Text: statusText(status)}
	e.Duration, q.told = now-e.Time, now
	journal.Emit(e)
}

// tellReceive tells the journal of a receive that has ended. Under q.mu.
func (q *QP) tellReceive(e *entry) {
	operation := "receive"
	if e.wc.Opcode == ibv.WC_RECV_RDMA_WITH_IMM {
		operation = "receive of write with immediate"
	}
	journal.Emit(journal.Event{Kind: journal.Transfer, Operation: operation, Object: q.named(),
		Size: uint64(e.wc.ByteLen), Value: e.wc.WRID, Text: statusText(e.wc.Status)})
}

func statusText(s ibv.WCStatus) string {
	if s == ibv.WC_SUCCESS || int(s) >= len(fault.StatusNames) {
		return ""
	}
	return fault.StatusNames[s]
}

// tellPacket tells the journal of what went wrong with a packet. Under q.mu.
func (q *QP) tellPacket(what string, psn uint32) {
	if journal.On() {
		journal.Emit(journal.Event{Kind: journal.Packet, Operation: what, Object: q.named(), Number: uint64(psn)})
	}
}

// tellRegion tells the journal of a region that is registered, or no more. Under m.mu, or before others have m.
func (m *MR) tellRegion(kind journal.Kind) {
	if journal.On() {
		journal.Emit(journal.Event{Kind: kind, Address: m.init.Address, Size: m.init.Length,
			Object: journal.Object{Type: "ibv_mr", Handle: uint64(m.Key)}, Text: rightsText(m.init.Access)})
	}
}

// rightsText has the names of rights.
func rightsText(a ibv.AccessFlags) (text string) {
	for _, r := range []struct {
		flag ibv.AccessFlags
		name string
	}{{ibv.ACCESS_LOCAL_WRITE, "local write"}, {ibv.ACCESS_REMOTE_WRITE, "remote write"},
		{ibv.ACCESS_REMOTE_READ, "remote read"}, {ibv.ACCESS_REMOTE_ATOMIC, "remote atomic"}} {
		if a&r.flag == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += r.name
	}
	return text
}

// nakNames are what the journal calls negative acknowledgements (section 9.7.5.2.8, table 46).
var nakNames = map[uint8]string{packet.NAKSequence: "a packet was missing", packet.NAKInvalidRequest: "invalid request",
	packet.NAKRemoteAccess: "remote access error", packet.NAKRemoteOp: "remote operational error",
	packet.NAKInvalidRD: "invalid RD request"}

// tellFreed tells of work that uses a region whose memory has been freed, with FARSIDE_STRICT=leaks.
func (g *grant) tellFreed() {
	if !finding.On(settings.StrictLeaks) {
		return
	}
	finding.Tell(&finding.Finding{ID: finding.FreedAddress, Place: uint64(g.key), Stack: g.made.Lines("registered"),
		Text: fmt.Sprintf("work of a queue pair used the memory region with key %#x, %d bytes at %#x, whose memory has been "+
			"freed", g.key, g.length, g.start),
		Objects: []journal.Object{{Type: "ibv_mr", Handle: uint64(g.key)}}})
}
