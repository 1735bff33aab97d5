package engine

import (
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/internal/journal"
	"farside/verbs/internal/packet"
)

// SendWR is a send work request, decoded. What it points to is copied when it is posted.
type SendWR struct {
	ID            uint64
	Opcode        ibv.WROpcode
	Flags         ibv.SendFlags
	ImmData       uint32 // as it lies in memory: big-endian
	InvalidateKey uint32 // of SEND_WITH_INV and LOCAL_INV
	RemoteAddress uint64 // of RDMA and atomics
	RKey          uint32
	CompareAdd    uint64
	Swap          uint64
	AH            *AH // of datagrams
	RemoteQPN     uint32
	RemoteQKey    uint32
	RemoteSRQ     uint32 // of XRC: the number of the shared receive queue
	MW            *MW    // of BIND_MW
	BindKey       uint32
	Bind          WindowBind
	SGEs          []ibv.SGE // with IBV_SEND_INLINE their bytes are copied when it is posted, and their keys are unused
}

// sendWQE is a posted send.
type sendWQE struct {
	wr       SendWR // SGEs are the slot's own
	inline   []byte // the payload, with IBV_SEND_INLINE
	length   uint64
	status   ibv.WCStatus // why it has failed; it ends when all before have ended
	started  bool
	psn, end uint32 // of its first and its last packet
	got      uint64 // bytes of a read that have come
	watch    *watch // nil if nobody looks
}

// sendRing is posted sends, in slots that are made once. The counters are since the start.
type sendRing struct {
	slots  []sendWQE
	sges   []ibv.SGE // perSlot for each slot
	bytes  []byte    // inlineMax for each slot
	staged uint64    // slots that are filled
	posted uint64    // of these, what is to be done
	cursor uint64    // what is being sent
	done   uint64    // what has ended
	freed  atomic.Uint64

	perSlot, inlineMax int
}

func (r *sendRing) init(c *ibv.QPCap) {
	r.perSlot, r.inlineMax = int(c.MaxSendSGE), int(c.MaxInlineData)
	r.slots = make([]sendWQE, c.MaxSendWR)
	r.sges = make([]ibv.SGE, int(c.MaxSendWR)*r.perSlot)
	r.bytes = make([]byte, int(c.MaxSendWR)*r.inlineMax)
}

func (r *sendRing) reset() {
	r.staged, r.posted, r.cursor, r.done = 0, 0, 0, 0
	r.freed.Store(0)
}

func (r *sendRing) at(i uint64) *sendWQE { return &r.slots[i%uint64(len(r.slots))] }

// sendable are the operations of each kind of queue pair.
var sendable = map[ibv.QPType]uint32{
	ibv.QPT_RC: 1<<ibv.WR_RDMA_WRITE | 1<<ibv.WR_RDMA_WRITE_WITH_IMM | 1<<ibv.WR_SEND | 1<<ibv.WR_SEND_WITH_IMM |
		1<<ibv.WR_RDMA_READ | 1<<ibv.WR_ATOMIC_CMP_AND_SWP | 1<<ibv.WR_ATOMIC_FETCH_AND_ADD | 1<<ibv.WR_LOCAL_INV |
		1<<ibv.WR_BIND_MW | 1<<ibv.WR_SEND_WITH_INV,
	ibv.QPT_XRC_SEND: 1<<ibv.WR_RDMA_WRITE | 1<<ibv.WR_RDMA_WRITE_WITH_IMM | 1<<ibv.WR_SEND | 1<<ibv.WR_SEND_WITH_IMM |
		1<<ibv.WR_RDMA_READ | 1<<ibv.WR_ATOMIC_CMP_AND_SWP | 1<<ibv.WR_ATOMIC_FETCH_AND_ADD | 1<<ibv.WR_LOCAL_INV |
		1<<ibv.WR_BIND_MW | 1<<ibv.WR_SEND_WITH_INV,
	ibv.QPT_UC: 1<<ibv.WR_RDMA_WRITE | 1<<ibv.WR_RDMA_WRITE_WITH_IMM | 1<<ibv.WR_SEND | 1<<ibv.WR_SEND_WITH_IMM |
		1<<ibv.WR_LOCAL_INV | 1<<ibv.WR_BIND_MW,
	ibv.QPT_UD: 1<<ibv.WR_SEND | 1<<ibv.WR_SEND_WITH_IMM,
}

// Sends says whether queue pairs of a kind have an operation.
func Sends(kind ibv.QPType, o ibv.WROpcode) bool { return o <= 31 && sendable[kind]>>o&1 != 0 }

// Start begins a batch of sends: Stage adds to it, and Commit or Abort ends it, maybe in another thread. Until then
// other threads that post sends wait.
func (q *QP) Start() { q.posting.Lock() }

// Stage adds a send to the batch. wr is the caller's again when it returns. Errors: EINVAL for a queue pair that can't
// send in its state, an operation that it doesn't have, too many entries, too long inline data, a bind that can't be;
// ENOMEM for a full queue: a request's slot is free again when its completion, or a later one, has been polled; EFAULT
// for inline data that can't be read.
func (q *QP) Stage(wr *SendWR) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := &q.sq
	switch {
	case q.state < ibv.QPS_RTS, !Sends(q.kind, wr.Opcode), len(wr.SGEs) > r.perSlot:
		return unix.EINVAL
	case r.staged-r.freed.Load() >= uint64(len(r.slots)):
		return unix.ENOMEM
	case wr.RemoteSRQ > packet.PSNMask:
		return unix.EINVAL
	case q.kind == ibv.QPT_UD && (wr.AH == nil || wr.AH.PD != q.pd || wr.RemoteQPN > multicastQP):
		return unix.EINVAL
	case wr.Opcode == ibv.WR_BIND_MW:
		if err := q.checkBind(wr); err != nil {
			return err
		}
	}
	i := int(r.staged % uint64(len(r.slots)))
	w := &r.slots[i]
	*w = sendWQE{wr: *wr}
	if q.device.watched() {
		w.watch = &watch{posted: journal.Now()}
	}
	for s := range wr.SGEs {
		w.length += uint64(wr.SGEs[s].Length)
	}
	w.wr.SGEs = r.sges[i*r.perSlot:][:len(wr.SGEs)]
	copy(w.wr.SGEs, wr.SGEs)
	if wr.Flags&ibv.SEND_INLINE != 0 {
		if err := q.stageInline(w, i); err != nil {
			return err
		}
	}
	r.staged++
	return nil
}

func (q *QP) checkBind(wr *SendWR) error {
	if wr.MW == nil {
		return unix.EINVAL
	}
	return wr.MW.checkBind(q, &wr.Bind, wr.MW.Type)
}

// stageInline copies the payload of a send or a write.
func (q *QP) stageInline(w *sendWQE, slot int) error {
	switch w.wr.Opcode {
	case ibv.WR_RDMA_READ, ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD, ibv.WR_LOCAL_INV, ibv.WR_BIND_MW:
		return unix.EINVAL
	}
	if w.length > uint64(q.sq.inlineMax) {
		return unix.EINVAL
	}
	w.inline = q.sq.bytes[slot*q.sq.inlineMax:][:0:q.sq.inlineMax]
	for _, s := range w.wr.SGEs {
		n := len(w.inline)
		w.inline = w.inline[:n+int(s.Length)]
		if !copyGuarded(w.inline[n:], bytesAt(s.Addr, uint64(s.Length))) {
			return unix.EFAULT
		}
	}
	return nil
}

// Commit posts what has been staged, and ends the batch.
func (q *QP) Commit() {
	defer q.posting.Unlock()
	defer guardFaults()()
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.sq.posted
	q.sq.posted = q.sq.staged
	if q.state >= ibv.QPS_SQE {
		q.flushSends()
		return
	}
	if q.device.options.Late {
		for i := first; i < q.sq.posted; i++ {
			q.announce(i)
		}
	}
	q.transmit()
}

// Abort forgets what has been staged, and ends the batch.
func (q *QP) Abort() {
	q.mu.Lock()
	q.sq.staged = q.sq.posted
	q.mu.Unlock()
	q.posting.Unlock()
}

// PostSend is a batch of one send. Errors: as Stage.
func (q *QP) PostSend(wr *SendWR) error {
	q.Start()
	if err := q.Stage(wr); err != nil {
		q.Abort()
		return err
	}
	q.Commit()
	return nil
}

// BindMW is ibv_bind_mw: it binds a window of type 1 by way of the send queue, and returns its new key, which is valid
// once the bind has completed. Errors: EINVAL, as Stage.
func (q *QP) BindMW(w *MW, id uint64, flags ibv.SendFlags, b *WindowBind) (uint32, error) {
	if err := w.checkBind(q, b, ibv.MW_TYPE_1); err != nil {
		return 0, err
	}
	old := w.Key()
	key := old&^tagMask | (old+1)&tagMask
	return key, q.PostSend(&SendWR{ID: id, Opcode: ibv.WR_BIND_MW, Flags: flags, MW: w, BindKey: key, Bind: *b})
}

// PostRecv adds a receive. wr is the caller's again when it returns. Errors: EINVAL in the state RESET, for too many
// entries, and for a queue pair with a shared receive queue or of XRC; ENOMEM for a full queue: a request's slot is
// free again when its completion has been polled.
func (q *QP) PostRecv(wr *RecvWR) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == ibv.QPS_RESET || q.init.SRQ != nil || transportOf(q.kind) == packet.XRC {
		return unix.EINVAL
	}
	if err := q.rq.post(wr); err != nil {
		return err
	}
	if q.state == ibv.QPS_ERR {
		q.flushReceives()
	}
	return nil
}

// guardFaults makes faults of the goroutine panics, until the function that it returns is called.
func guardFaults() func() {
	if debug.SetPanicOnFault(true) {
		return nothing
	}
	return faultsOff
}

func nothing() {}

func faultsOff() { debug.SetPanicOnFault(false) }
