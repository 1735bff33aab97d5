package engine

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// Inline data that can't be memory is EFAULT, and the queue pair goes on.
func TestInlineNowhere(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	for _, address := range []uint64{0, 1, math.MaxUint64 - 3, math.MaxInt64} {
		for _, n := range []uint32{4, 8, 100} {
			wr := SendWR{Opcode: ibv.WR_SEND, Flags: ibv.SEND_INLINE, SGEs: []ibv.SGE{{Addr: address, Length: n}}}
			if err := a.qp.PostSend(&wr); err != unix.EFAULT {
				t.Errorf("%d bytes at %#x: %v", n, address, err)
			}
		}
	}
	a.send(write(from, to, 8))
	a.want(1, ibv.WC_SUCCESS)
}

// The way of a queue pair stays while packets are on it.
func TestWayWhileSending(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)}) // waits for a receive
	attr := a.qp.Query()
	attr.QPState = ibv.QPS_SQD
	check(t, a.qp.Modify(&attr, ibv.QP_STATE))
	if err := a.qp.Modify(&attr, ibv.QP_STATE|ibv.QP_AV); err != unix.EINVAL {
		t.Errorf("while a send is under way: %v", err)
	}
	b.recv(7, to.sge(0, 8))
	a.want(1, ibv.WC_SUCCESS)
	check(t, a.qp.Modify(&attr, ibv.QP_STATE|ibv.QP_AV))
}

// A region that has ended stays so, and nobody finds it.
func TestRegionThatHasEnded(t *testing.T) {
	n := newNode(t, &fabric.Wire{}, "192.0.2.1")
	m := n.memory(4096)
	check(t, m.mr.Dereg())
	if err := m.mr.Rereg(ibv.REREG_MR_CHANGE_ACCESS, nil, MRInit{Access: allAccess}); err != unix.EINVAL {
		t.Errorf("registered again after its end: %v", err)
	}
	if err := m.mr.Dereg(); err == nil {
		t.Error("ended twice")
	}
	if n.device.keys.find(m.mr.Key) != nil {
		t.Error("its key is still found")
	}
}

// A bind that is still posted when its window ends fails, and takes nobody's key.
func TestWindowEndsBeforeItsBind(t *testing.T) {
	a, b := pair(t, nil, config{})
	from, to := a.memory(64), b.memory(64)
	w, err := a.pd.AllocMW(ibv.MW_TYPE_2)
	check(t, err)
	key := w.Key() + 1
	a.send(SendWR{ID: 1, Opcode: ibv.WR_SEND, SGEs: from.list(0, 8)}) // waits for a receive
	a.send(SendWR{ID: 2, Opcode: ibv.WR_BIND_MW, MW: w, BindKey: key,
		Bind: WindowBind{from.mr, from.address(0), 8, ibv.ACCESS_REMOTE_READ}})
	check(t, w.Dealloc())
	b.recv(7, to.sge(0, 8))
	a.want(1, ibv.WC_SUCCESS)
	a.want(2, ibv.WC_MW_BIND_ERR)
	if a.device.keys.find(key) != nil {
		t.Error("the key is a window's that has ended")
	}
	check(t, from.mr.Dereg())
}

// dead is a way whose other end has gone.
type dead struct{}

func (dead) MTU() int                    { return 4096 }
func (dead) Reliable() bool              { return true }
func (dead) Send([]byte, [][]byte) error { return fabric.ErrDown }

// An address handle finds the way anew after the one that it had has ended.
func TestHandleAfterItsWay(t *testing.T) {
	a, b := pair(t, nil, config{kind: ibv.QPT_UD})
	from, to := a.memory(64), b.memory(128)
	wr := a.datagram(b, from, 8)
	wr.ID = 1
	wr.AH.way.Store(&way{b.qp.Number(), dead{}})
	b.recv(7, to.sge(0, 128))
	a.send(wr)
	a.want(1, ibv.WC_SUCCESS)
	wr.ID = 2
	a.send(wr)
	a.want(2, ibv.WC_SUCCESS)
	b.want(7, ibv.WC_SUCCESS)
}
