package verbs

import (
	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

// postSend is post_send of struct ibv_context_ops: queue pair, requests, and where the one goes that failed. What is
// before that one is posted.
func postSend(c *cabi.Call) {
	q := queuePairs.get(c.Args[0])
	if q == nil {
		failPost(c, unix.EINVAL, c.Args[1])
		return
	}
	wr := c.Args[1]
	q.engine.Start()
	defer q.engine.Commit() // also when a request can't be read
	for wr != 0 {
		next, err := q.stage(wr)
		if err != nil {
			failPost(c, errnoOf(err, unix.EINVAL), wr)
			return
		}
		wr = next
	}
}

// failPost makes a post fail at a request.
func failPost(c *cabi.Call, errno unix.Errno, wr uintptr) {
	c.Fail(errno)
	if bad := c.Args[2]; bad != 0 {
		*at[uintptr](bad) = wr
	}
}

// stage decodes the request at an address, adds it to the batch, and returns the address of the next one. The request
// and its entries are read once, as other threads may change them meanwhile.
func (q *queuePair) stage(address uintptr) (next uintptr, err error) {
	wr := *at[ibv.SendWR](address)
	r := &q.request
	*r = engine.SendWR{ID: wr.WRID, Opcode: wr.Opcode, Flags: wr.SendFlags}
	switch wr.Opcode {
	case ibv.WR_SEND_WITH_INV, ibv.WR_LOCAL_INV:
		r.InvalidateKey = wr.ImmData
	default:
		r.ImmData = wr.ImmData
	}
	if q.engine.Kind() == ibv.QPT_XRC_SEND {
		r.RemoteSRQ = wr.RemoteSRQN
	}
	if q.engine.Kind() == ibv.QPT_UD {
		ah, qpn, qkey := wr.UD()
		if a := addressHandles.get(ah); a != nil {
			r.AH = a.engine
		}
		r.RemoteQPN, r.RemoteQKey = qpn, qkey
	} else {
		switch wr.Opcode {
		case ibv.WR_ATOMIC_CMP_AND_SWP, ibv.WR_ATOMIC_FETCH_AND_ADD:
			r.RemoteAddress, r.CompareAdd, r.Swap, r.RKey = wr.Atomic()
		case ibv.WR_BIND_MW:
			if err := bindOf(r, wr.BindMW.MW, wr.BindMW.RKey, &wr.BindMW.BindInfo); err != nil {
				return 0, err
			}
		default:
			r.RemoteAddress, r.RKey = wr.RDMA()
		}
	}
	if wr.NumSGE < 0 || wr.NumSGE > maxSGE {
		return 0, unix.EINVAL
	}
	r.SGEs = q.sges[:copy(q.sges[:], array[ibv.SGE](wr.SGList, int(wr.NumSGE)))]
	return wr.Next, q.engine.Stage(r)
}

// bindOf fills a request that binds a window.
func bindOf(r *engine.SendWR, window uintptr, key uint32, info *ibv.MWBindInfo) error {
	w := memoryWindows.get(window)
	if w == nil {
		return unix.EINVAL
	}
	r.MW, r.BindKey = w.engine, key
	r.Bind = engine.WindowBind{Address: info.Addr, Length: info.Length, Access: info.MWAccessFlags}
	if info.MR != 0 {
		m := memoryRegions.get(info.MR)
		if m == nil {
			return unix.EINVAL
		}
		r.Bind.MR = m.engine
	}
	return nil
}

// postRecv is post_recv of struct ibv_context_ops: queue pair, requests, and where the one goes that failed.
func postRecv(c *cabi.Call) {
	var to receiver
	if q := queuePairs.get(c.Args[0]); q != nil {
		to.qp = q.engine
	}
	to.post(c)
}

// postSRQRecv is post_srq_recv of struct ibv_context_ops: queue, requests, and where the one goes that failed.
func postSRQRecv(c *cabi.Call) {
	var to receiver
	if s := sharedQueues.get(c.Args[0]); s != nil {
		to.srq = s.engine
	}
	to.post(c)
}

// receiver is what receives are posted to: one of the two.
type receiver struct {
	qp  *engine.QP
	srq *engine.SRQ
}

// post posts a list of requests until one fails. The calls are direct ones, so that nothing is allocated.
func (to receiver) post(c *cabi.Call) {
	if to == (receiver{}) {
		failPost(c, unix.EINVAL, c.Args[1])
		return
	}
	var r receive
	for wr := c.Args[1]; wr != 0; wr = r.next {
		err := r.read(wr)
		switch {
		case err != nil:
		case to.srq != nil:
			err = to.srq.PostRecv(&engine.RecvWR{ID: r.id, SGEs: r.sges[:r.n]})
		default:
			err = to.qp.PostRecv(&engine.RecvWR{ID: r.id, SGEs: r.sges[:r.n]})
		}
		if err != nil {
			failPost(c, errnoOf(err, unix.EINVAL), wr)
			return
		}
	}
}

// receive is a decoded ibv_recv_wr.
type receive struct {
	id   uint64
	next uintptr
	n    int
	sges [maxSGE]ibv.SGE
}

// read decodes the request at an address. Error: EINVAL for too many entries.
func (r *receive) read(address uintptr) error {
	wr := *at[ibv.RecvWR](address)
	if wr.NumSGE < 0 || wr.NumSGE > maxSGE {
		return unix.EINVAL
	}
	r.id, r.next = wr.WRID, wr.Next
	r.n = copy(r.sges[:], array[ibv.SGE](wr.SGList, int(wr.NumSGE)))
	return nil
}
