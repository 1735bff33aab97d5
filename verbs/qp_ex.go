package verbs

import (
	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

// sendOps are the functions that build work requests: the flag that asks for one, its entry and its member.
var sendOps = []struct {
	flag   ibv.QPCreateSendOpsFlags
	opcode ibv.WROpcode
	entry  string
	member func(*ibv.QPEx) *uintptr
}{
	{ibv.QP_EX_WITH_RDMA_WRITE, ibv.WR_RDMA_WRITE, "wr_rdma_write",
		func(x *ibv.QPEx) *uintptr { return &x.WRRDMAWrite }},
	{ibv.QP_EX_WITH_RDMA_WRITE_WITH_IMM, ibv.WR_RDMA_WRITE_WITH_IMM, "wr_rdma_write_imm",
		func(x *ibv.QPEx) *uintptr { return &x.WRRDMAWriteImm }},
	{ibv.QP_EX_WITH_SEND, ibv.WR_SEND, "wr_send", func(x *ibv.QPEx) *uintptr { return &x.WRSend }},
	{ibv.QP_EX_WITH_SEND_WITH_IMM, ibv.WR_SEND_WITH_IMM, "wr_send_imm",
		func(x *ibv.QPEx) *uintptr { return &x.WRSendImm }},
	{ibv.QP_EX_WITH_RDMA_READ, ibv.WR_RDMA_READ, "wr_rdma_read", func(x *ibv.QPEx) *uintptr { return &x.WRRDMARead }},
	{ibv.QP_EX_WITH_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_CMP_AND_SWP, "wr_atomic_cmp_swp",
		func(x *ibv.QPEx) *uintptr { return &x.WRAtomicCmpSwp }},
	{ibv.QP_EX_WITH_ATOMIC_FETCH_AND_ADD, ibv.WR_ATOMIC_FETCH_AND_ADD, "wr_atomic_fetch_add",
		func(x *ibv.QPEx) *uintptr { return &x.WRAtomicFetchAdd }},
	{ibv.QP_EX_WITH_LOCAL_INV, ibv.WR_LOCAL_INV, "wr_local_inv",
		func(x *ibv.QPEx) *uintptr { return &x.WRLocalInv }},
	{ibv.QP_EX_WITH_BIND_MW, ibv.WR_BIND_MW, "wr_bind_mw", func(x *ibv.QPEx) *uintptr { return &x.WRBindMW }},
	{ibv.QP_EX_WITH_SEND_WITH_INV, ibv.WR_SEND_WITH_INV, "wr_send_inv",
		func(x *ibv.QPEx) *uintptr { return &x.WRSendInv }},
}

// sendOpsExist says whether a kind of queue pair has all operations that flags ask for.
func sendOpsExist(kind ibv.QPType, flags uint64) bool {
	for _, op := range sendOps {
		if flags&uint64(op.flag) != 0 && engine.Sends(kind, op.opcode) {
			flags &^= uint64(op.flag)
		}
	}
	return flags == 0
}

// extend makes the queue pair one whose requests functions build.
func (q *queuePair) extend(flags uint64) {
	q.build = &builder{inline: make([]byte, 0, q.engine.Cap().MaxInlineData)}
	entry, x := entered.addresses, at[ibv.QPEx](q.at)
	for _, op := range sendOps {
		if flags&uint64(op.flag) != 0 {
			*op.member(x) = entry[op.entry]
		}
	}
	x.WRStart, x.WRComplete, x.WRAbort = entry["wr_start"], entry["wr_complete"], entry["wr_abort"]
	x.WRSetUDAddr, x.WRSetXRCSRQN = entry["wr_set_ud_addr"], entry["wr_set_xrc_srqn"]
	x.WRSetSGE, x.WRSetSGEList = entry["wr_set_sge"], entry["wr_set_sge_list"]
	x.WRSetInlineData, x.WRSetInlineDataList = entry["wr_set_inline_data"], entry["wr_set_inline_data_list"]
}

// qpToQPEx is ibv_qp_to_qp_ex.
func qpToQPEx(c *cabi.Call) {
	if q := queuePairs.get(c.Args[0]); q != nil && q.build != nil {
		c.Result = q.at
	}
}

func wrStart(c *cabi.Call) {
	q := extended(c)
	if q == nil || !acquire(&q.build.starting) {
		return
	}
	q.engine.Start()
	q.build.open, q.build.pending, q.build.err = true, false, nil
}

// extended is the queue pair that a function of struct ibv_qp_ex is called for, or nil.
func extended(c *cabi.Call) *queuePair {
	if q := queuePairs.get(c.Args[0]); q != nil && q.build != nil {
		return q
	}
	return nil
}

// building is extended between wr_start and wr_complete.
func building(c *cabi.Call) *queuePair {
	if q := extended(c); q != nil && q.build.open {
		return q
	}
	return nil
}

// flush stages the request that is being built, if there is one.
func (q *queuePair) flush() {
	b := q.build
	if b.pending && b.err == nil {
		b.err = q.engine.Stage(&b.request)
	}
	b.pending = false
}

func wrComplete(c *cabi.Call) {
	q := building(c)
	if q == nil {
		c.Fail(unix.EINVAL)
		return
	}
	q.flush()
	b := q.build
	err := b.err
	b.open = false
	if err == nil {
		q.engine.Commit()
	} else {
		q.engine.Abort()
		c.Fail(errnoOf(err, unix.EINVAL))
	}
	b.starting.Unlock()
}

func wrAbort(c *cabi.Call) {
	if q := building(c); q != nil {
		q.build.open = false
		q.engine.Abort()
		q.build.starting.Unlock()
	}
}

// begin begins a request with what the application has put into struct ibv_qp_ex, nil where none can begin.
func begin(c *cabi.Call, opcode ibv.WROpcode) *engine.SendWR {
	q := building(c)
	if q == nil {
		return nil
	}
	q.flush()
	b, x := q.build, at[ibv.QPEx](q.at)
	b.request = engine.SendWR{ID: x.WRID, Opcode: opcode, Flags: x.WRFlags &^ ibv.SEND_INLINE}
	b.pending = true
	return &b.request
}

func wrRDMA(opcode ibv.WROpcode) func(*cabi.Call) {
	return func(c *cabi.Call) {
		if r := begin(c, opcode); r != nil {
			r.RKey, r.RemoteAddress = uint32(c.Args[1]), uint64(c.Args[2])
		}
	}
}

func wrRDMAWriteImm(c *cabi.Call) {
	if r := begin(c, ibv.WR_RDMA_WRITE_WITH_IMM); r != nil {
		r.RKey, r.RemoteAddress, r.ImmData = uint32(c.Args[1]), uint64(c.Args[2]), uint32(c.Args[3])
	}
}

func wrSend(c *cabi.Call) { begin(c, ibv.WR_SEND) }

func wrSendImm(c *cabi.Call) {
	if r := begin(c, ibv.WR_SEND_WITH_IMM); r != nil {
		r.ImmData = uint32(c.Args[1])
	}
}

func wrInvalidate(opcode ibv.WROpcode) func(*cabi.Call) {
	return func(c *cabi.Call) {
		if r := begin(c, opcode); r != nil {
			r.InvalidateKey = uint32(c.Args[1])
		}
	}
}

func wrAtomicCmpSwp(c *cabi.Call) {
	if r := begin(c, ibv.WR_ATOMIC_CMP_AND_SWP); r != nil {
		r.RKey, r.RemoteAddress = uint32(c.Args[1]), uint64(c.Args[2])
		r.CompareAdd, r.Swap = uint64(c.Args[3]), uint64(c.Args[4])
	}
}

func wrAtomicFetchAdd(c *cabi.Call) {
	if r := begin(c, ibv.WR_ATOMIC_FETCH_AND_ADD); r != nil {
		r.RKey, r.RemoteAddress, r.CompareAdd = uint32(c.Args[1]), uint64(c.Args[2]), uint64(c.Args[3])
	}
}

// wrBindMW is wr_bind_mw: queue pair, window, key, what to bind it to.
func wrBindMW(c *cabi.Call) {
	r := begin(c, ibv.WR_BIND_MW)
	if r == nil {
		return
	}
	info := *at[ibv.MWBindInfo](c.Args[3])
	if err := bindOf(r, c.Args[1], uint32(c.Args[2]), &info); err != nil {
		queuePairs.get(c.Args[0]).build.err = err
	}
}

// wrSetUDAddr is wr_set_ud_addr: queue pair, address handle, number, Q_Key.
func wrSetUDAddr(c *cabi.Call) {
	q := building(c)
	if q == nil {
		return
	}
	r := &q.build.request
	if a := addressHandles.get(c.Args[1]); a != nil {
		r.AH = a.engine
	}
	r.RemoteQPN, r.RemoteQKey = uint32(c.Args[2]), uint32(c.Args[3])
}

// wrSetXRCSRQN is wr_set_xrc_srqn: queue pair, number of the other side's shared receive queue.
func wrSetXRCSRQN(c *cabi.Call) {
	if q := building(c); q != nil {
		q.build.request.RemoteSRQ = uint32(c.Args[1])
	}
}

// wrSetSGE is wr_set_sge: queue pair, key, address, length.
func wrSetSGE(c *cabi.Call) {
	if q := building(c); q != nil {
		b := q.build
		b.sges[0] = ibv.SGE{Addr: uint64(c.Args[2]), Length: uint32(c.Args[3]), LKey: uint32(c.Args[1])}
		b.request.SGEs = b.sges[:1]
	}
}

// wrSetSGEList is wr_set_sge_list: queue pair, number, entries.
func wrSetSGEList(c *cabi.Call) {
	q := building(c)
	if q == nil {
		return
	}
	if c.Args[1] > maxSGE {
		q.build.err = unix.EINVAL
		return
	}
	b := q.build
	b.request.SGEs = b.sges[:copy(b.sges[:], array[ibv.SGE](c.Args[2], int(c.Args[1])))]
}

// wrSetInlineData is wr_set_inline_data: queue pair, address, length.
func wrSetInlineData(c *cabi.Call) {
	if q := building(c); q != nil {
		q.build.inline = q.build.inline[:0]
		q.addInline(c.Args[1], c.Args[2])
		q.setInline()
	}
}

// wrSetInlineDataList is wr_set_inline_data_list: queue pair, number, buffers.
func wrSetInlineDataList(c *cabi.Call) {
	q := building(c)
	if q == nil {
		return
	}
	if c.Args[1] > maxSGE {
		q.build.err = unix.EINVAL
		return
	}
	q.build.inline = q.build.inline[:0]
	for _, d := range array[ibv.DataBuf](c.Args[2], int(c.Args[1])) {
		q.addInline(d.Addr, uintptr(d.Length))
	}
	q.setInline()
}

// addInline copies data, which is the application's again when the function returns.
func (q *queuePair) addInline(from, n uintptr) {
	b := q.build
	if n > uintptr(cap(b.inline)-len(b.inline)) {
		b.err = unix.EINVAL
		return
	}
	b.inline = append(b.inline, bytesAt(from, n)...)
}

func (q *queuePair) setInline() {
	b := q.build
	b.request.Flags |= ibv.SEND_INLINE
	b.request.SGEs = b.sges[:0]
	if len(b.inline) > 0 {
		b.sges[0] = ibv.SGE{Addr: uint64(address(&b.inline[0])), Length: uint32(len(b.inline))}
		b.request.SGEs = b.sges[:1]
	}
}
